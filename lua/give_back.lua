-- give back: uncounts what a take counted, unless it has left already.
--
-- KEYS[i]   the client of policy i; all of one slot
-- ARGV[1]   numbers of 7 bytes each, as take has them:
--           number of the call and the time, echoed
--           and of each policy: algorithm, limit, window in ms, slices, cost,
--           the time the take was counted at
--
-- reply     number, time
--
-- It goes by that time alone: what time it is now changes nothing here.
--
-- What another policy has counted anew since is left alone: it is not known
-- where the units went. So is a value that is none of ours.

local floor, min = math.floor, math.min
local pack, unpack = struct.pack, struct.unpack

local number, now = unpack('<I7I7', ARGV[1])

-- Of a log nothing but what was counted since is written. The place that a run
-- of entries of that time no longer needs is behind all others then, as another
-- entry of the time of the last, without units.

local function give_back_log(key, cost, stamp)
    -- include part/log.lua

    local p = opened(key, redis.call('GETRANGE', key, '0', '1023'))

    if not p or stamp <= p.newest - p.window then
        return
    end

    local first = search(p, TIME, stamp, 1, p.count + 1)
    local behind = search(p, TIME, stamp + 1, first, p.count + 1)

    if behind == first or first == 1 and p.ring > 0 then
        return
    end

    local before, time = p.base, stamp
    local sum = at(p, behind - 1, SUM)

    if first > 1 then
        before, time = at(p, first - 1, SUM), at(p, first - 1, TIME)
    end

    local units = min(cost, sum - before)
    local parts = {}

    if units == 0 then
        return
    end
    if sum - units > before then
        time, before = stamp, sum - units
        parts[1] = pack(ENTRY, time, before)
    end

    local later = entries(p, behind, p.count)

    for i = 1, #later, 12 do
        time, sum = unpack(ENTRY, later, i)
        before = sum - units
        parts[#parts + 1] = pack(ENTRY, time, before)
    end
    for i = #parts + 1, p.count - first + 1 do
        parts[i] = pack(ENTRY, time, before)
    end

    local done = 0

    pieces(p, first, p.count, function(place, n)
        redis.call('SETRANGE', key, 12 * place + PLACE,
                   table.concat(parts, '', done + 1, done + n))
        done = done + n
    end)
end

-- A state with so many units less, and how many that were; nil if it is none.

local function less(text, kind, n, cost, stamp)
    local k, w, m, index = unpack('<c1I4BI6', text)
    local at

    if k ~= kind or w == 0 then
        return nil
    end

    if kind == 's' then
        local taken = min(floor(stamp * n / w), index)
        if m ~= n or taken < index - n then
            return text, 0
        end
        at = 13 + 7 * (taken % (n + 1))
    else
        local taken = floor(stamp / w)
        index = unpack('<I6', text, 6)
        if taken < index - 1 then
            return text, 0
        end
        at = taken < index and 12 or 19
    end

    local units = unpack('<I7', text, at)
    cost = min(cost, units)

    return text:sub(1, at - 1) .. pack('<I7', units - cost)
           .. text:sub(at + 7), cost
end

-- The state of that window, whether it is the first or the one behind it. The
-- other has counted what that one still has of it, or was made of it.

local function without(text, kind, w, n, cost, stamp)
    local size = kind == 's' and 19 + 7 * n or 25
    local own, other = text:sub(1, size), text:sub(size + 1)

    if #own ~= size or other ~= '' and #other ~= size then
        return nil
    end

    if unpack('<I4', own, 2) == w then
        own, cost = less(own, kind, n, cost, stamp)
        if own and other ~= '' then
            other = less(other, kind, n, cost, stamp)
        end
    elseif other ~= '' and unpack('<I4', other, 2) == w then
        other, cost = less(other, kind, n, cost, stamp)
        own = other and less(own, kind, n, cost, stamp)
    else
        return nil
    end

    return own and other and own .. other
end

for i, key in ipairs(KEYS) do
    local kind, _, w, slices, cost, stamp
        = unpack('<c1I7I7I7I7I7', ARGV[1], 36 * i - 21)

    if kind == 'l' then
        give_back_log(key, cost, stamp)
    else
        local text = redis.call('GET', key)
        local value = text and without(text, kind, w, slices, cost, stamp)
        if value then
            redis.call('SET', key, value, 'KEEPTTL')
        end
    end
end

return pack('<I7I7', number, now)
