-- Included by part/write_value.lua.
--
-- How many ms a state is to live: until it counts nothing, and a second more,
-- but no longer than two windows.

local function state_ttl(state, now)
    local kind, w, n, index = struct.unpack('<c1I4BI6', state)
    local last

    if kind == 's' then
        last = math.floor(((index + n + 1) * w + n - 1) / n)
    else
        index = struct.unpack('<I6', state, 6)
        last = (index + (kind == 'c' and 2 or 1)) * w
    end
    return math.min(last - now + 1000, 2 * w)
end
