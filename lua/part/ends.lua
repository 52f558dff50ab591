-- Included by part/set.lua.
--
-- For how long a state is to live: until it counts nothing, and a second more,
-- but no longer than two windows.

local function ends(text, now)
    local kind, v, n, index = struct.unpack('<c1I4BI6', text)
    local last

    if kind == 's' then
        last = math.floor(((index + n + 1) * v + n - 1) / n)
    else
        index = struct.unpack('<I6', text, 6)
        last = (index + (kind == 'c' and 2 or 1)) * v
    end
    return math.min(last - now + 1000, 2 * v)
end
