-- Included by part/log_take.lua.
--
-- The entries of a log with sums that begin anew, before they outgrow 48 bits.

local function rebased(entries, before)
    local parts = {}
    for at = 1, #entries, 12 do
        local time, sum = struct.unpack('<I6I6', entries, at)
        parts[#parts + 1] = struct.pack('<I6I6', time, sum - before)
    end
    return table.concat(parts)
end
