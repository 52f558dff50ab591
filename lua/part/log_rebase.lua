-- Included by part/log_take.lua.
--
-- The entries of a log with sums that begin anew, before the sums outgrow 48
-- bits.

local function rebase(list, before)
    local parts = {}
    for offset = 1, #list, 12 do
        local time, sum = struct.unpack(ENTRY, list, offset)
        parts[#parts + 1] = struct.pack(ENTRY, time, sum - before)
    end
    return table.concat(parts)
end
