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

        local taken = min(floor(stamp * n / w), old)
        if taken < old - n then
            return nil
        end

        local at = 13 + 7 * (taken % (n + 1))
        local units = unpack('<I7', text, at)

        return text:sub(1, at - 1) .. pack('<I7', units - min(cost, units))
               .. text:sub(at + 7)
    end

    if #text ~= 25 then
        return nil
    end

    local k, v, index, prev, curr = unpack('<c1I4I6I7I7', text)
    if k ~= kind or v ~= w then
        return nil
    end

    local taken = floor(stamp / w)

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
