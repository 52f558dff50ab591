-- give back: uncounts what a take counted, unless it has left already.
--
-- KEYS[i]   the client of policy i; all of one slot
-- ARGV[1]   numbers of 7 bytes each, as take has them:
--           number of the call, echoed, the time in ms, 0 for this server's own
--           and of each policy: algorithm, limit, window in ms, slices, cost,
--           the time the take was counted at
--
-- reply     number, time
--
-- What another policy has counted anew since is left alone: it is not known
-- where the units went. So is a value that is none of ours.

local floor, min = math.floor, math.min
local pack, unpack = struct.pack, struct.unpack

local number, now = unpack('<I7I7', ARGV[1])

if now == 0 then
    local t = redis.call('TIME')
    now = t[1] * 1000 + floor(t[2] / 1000)
end

local function without(text, kind, w, n, cost, stamp)
    if kind == 'l' then
        if #text < 17 or (#text - 17) % 12 ~= 0 or text:sub(1, 1) ~= 'l' then
            return nil
        end

        -- the entries of that time may be several, one after the other: from
        -- first up to behind; those after them are few, it was counted lately

        local count = (#text - 17) / 12
        local first, behind = 1, count + 1

        while first < behind do
            local mid = floor((first + behind) / 2)
            if unpack('<I6', text, 12 * mid + 6) >= stamp then
                behind = mid
            else
                first = mid + 1
            end
        end
        while behind <= count and unpack('<I6', text, 12 * behind + 6) == stamp
        do
            behind = behind + 1
        end
        if behind == first then
            return nil
        end

        local before = unpack('<I6', text, 12 * first)
        local sum = unpack('<I6', text, 12 * behind)
        local units = min(cost, sum - before)
        local parts = { text:sub(1, 12 * first + 5) }

        if sum - units > before then
            parts[2] = pack('<I6I6', stamp, sum - units)
        end
        for i = behind, count do
            local time, total = unpack('<I6I6', text, 12 * i + 6)
            parts[#parts + 1] = pack('<I6I6', time, total - units)
        end
        return units > 0 and table.concat(parts) or nil
    end

    if kind == 's' then
        if #text ~= 19 + 7 * n then
            return nil
        end
        local k, v, m, old = unpack('<c1I4BI6', text)
        if k ~= 's' or v ~= w or m ~= n then
            return nil
        end

        local index, slots = math.max(floor(now * n / w), old), {}
        local taken = min(floor(stamp * n / w), index)

        for slot = 0, n do
            slots[slot + 1] = unpack('<I7', text, 13 + 7 * slot)
        end
        for j = old + 1, min(index, old + n + 1) do
            slots[j % (n + 1) + 1] = 0
        end
        if taken >= index - n then
            local slot = taken % (n + 1) + 1
            slots[slot] = slots[slot] - min(cost, slots[slot])
        end
        for slot, units in ipairs(slots) do
            slots[slot] = pack('<I7', units)
        end
        return pack('<c1I4BI6', 's', w, n, index) .. table.concat(slots)
    end

    if #text ~= 25 then
        return nil
    end

    local k, v, index, prev, curr = unpack('<c1I4I6I7I7', text)
    local taken, past = floor(stamp / w), floor(now / w)

    if k ~= kind or v ~= w then
        return nil
    end
    if past > index then
        prev, curr = past == index + 1 and curr or 0, 0
        index = past
    end
    if taken >= index then
        curr = curr - min(cost, curr)
    elseif taken == index - 1 then
        prev = prev - min(cost, prev)
    end
    return pack('<c1I4I6I7I7', kind, w, index, prev, curr)
end

for i, key in ipairs(KEYS) do
    local kind, _, w, slices, cost, stamp
        = unpack('<c1I7I7I7I7I7', ARGV[1], 36 * i - 21)
    local text = redis.call('GET', key)
    local value = text and without(text, kind, w, slices, cost, stamp)
    if value then
        redis.call('SET', key, value, 'KEEPTTL')
    end
end

return pack('<I7I7', number, now)
