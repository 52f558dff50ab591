-- give_back: uncounts units that a take counted, unless they have left already.
--
-- KEYS[i]   the client of policy i; all of one slot
-- ARGV[1]   numbers of 7 bytes each, as take has them:
--           number of the call and the time, returned
--           and of each policy: algorithm, limit, window in ms, slices, cost,
--           the time the take was counted at
--
-- reply     number, time
--
-- The time of the take decides where the units are: the time now changes
-- nothing here.
--
-- A value that was made for another policy since is left alone: it is not known
-- where the units went. So is a value that is none of ours.

local floor, min = math.floor, math.min
local pack, unpack = struct.pack, struct.unpack

local number, now = unpack('<I7I7', ARGV[1])

-- Of a log only the entries from the time of the take on are written. If fewer
-- entries are left, the last one is repeated: an entry with the sum of the one
-- before it has no units. A log that is short, or of which half is such entries,
-- is written without those at its end: a client whose units all go back must not
-- make it grow.

local function give_back_log(key, cost, stamp)
    -- include part/log.lua

    local p = parse_log(key, redis.call('GETRANGE', key, '0', '1023'))

    if not p or stamp <= p.newest - p.window then
        return
    end

    local first = search(p, TIME, stamp, 1, p.count + 1)
    local after = search(p, TIME, stamp + 1, first, p.count + 1)

    if after == first or first == 1 and p.ring > 0 then
        return
    end

    local before, time = p.base, stamp
    local sum = at(p, after - 1, SUM)

    if first > 1 then
        before, time = at(p, first - 1, SUM), at(p, first - 1, TIME)
    end

    local units = min(cost, sum - before)
    local changed, kept, used = {}, before, 0

    if units == 0 then
        return
    end
    if sum - units > before then
        time, before, used = stamp, sum - units, 1
        changed[1] = pack(ENTRY, time, before)
    end

    local later = entries(p, after, p.count)

    for i = 1, #later, 12 do
        time, sum = unpack(ENTRY, later, i)
        changed[#changed + 1] = pack(ENTRY, time, sum - units)
        if sum - units > before then
            before, used = sum - units, #changed
        end
    end

    -- the entries that are kept: low to solid, and those used of the changed

    local low, base, solid = 1, p.base, first - 1

    if p.ring > 0 then
        low, base = 2, at(p, 1, SUM)
    end
    if kept == base then
        solid = low - 1
    elseif solid > low and at(p, solid - 1, SUM) == kept then
        solid = search(p, SUM, kept, low, solid)
    end

    if p.count < SHORT or 2 * (solid + used) <= p.count then
        redis.call('SET', key, pack(HEAD, 'l', p.window, p.renewed, base)
                               .. entries(p, low, solid)
                               .. table.concat(changed, '', 1, used),
                   'KEEPTTL')
        return
    end

    for i = #changed + 1, p.count - first + 1 do
        changed[i] = pack(ENTRY, time, before)
    end

    local written = 0

    each_run(p, first, p.count, function(index, n)
        redis.call('SETRANGE', key, 12 * index + OFFSET,
                   table.concat(changed, '', written + 1, written + n))
        written = written + n
    end)
end

-- A state with cost units less, or as many as it has, and how many that were;
-- nil if the state is of another kind.

local function state_minus(state, kind, n, cost, stamp)
    local state_kind, w, state_n, index = unpack('<c1I4BI6', state)
    local offset

    if state_kind ~= kind or w == 0 then
        return nil
    end

    if kind == 's' then
        local taken_index = min(floor(stamp * n / w), index)
        if state_n ~= n or taken_index < index - n then
            return state, 0
        end
        offset = 13 + 7 * (taken_index % (n + 1))
    else
        local taken_index = floor(stamp / w)
        index = unpack('<I6', state, 6)
        if taken_index < index - 1 then
            return state, 0
        end
        offset = taken_index < index and 12 or 19
    end

    local units = unpack('<I7', state, offset)
    cost = min(cost, units)

    return state:sub(1, offset - 1) .. pack('<I7', units - cost)
           .. state:sub(offset + 7), cost
end

-- A value with cost units less: the state of the window w uncounts, be it the
-- first or the one behind it. The other state loses as many units: it counted
-- them too, or was made of them.

local function value_minus(text, kind, w, n, cost, stamp)
    local size = kind == 's' and 19 + 7 * n or 25
    local own, other = text:sub(1, size), text:sub(size + 1)

    if #own ~= size or other ~= '' and #other ~= size then
        return nil
    end

    if unpack('<I4', own, 2) == w then
        own, cost = state_minus(own, kind, n, cost, stamp)
        if own and other ~= '' then
            other = state_minus(other, kind, n, cost, stamp)
        end
    elseif other ~= '' and unpack('<I4', other, 2) == w then
        other, cost = state_minus(other, kind, n, cost, stamp)
        own = other and state_minus(own, kind, n, cost, stamp)
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
        local value = text and value_minus(text, kind, w, slices, cost, stamp)
        if value then
            redis.call('SET', key, value, 'KEEPTTL')
        end
    end
end

return pack('<I7I7', number, now)
