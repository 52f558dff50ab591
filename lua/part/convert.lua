-- Included by the takes, after carried.lua.
--
-- A value of a counter, fixed or strict is the state of one window, and behind
-- it there may be that of another one, which counts all units that the first
-- one counts: no window erases anything of another. Of all windows that were
-- asked for, the longest is one of the two. When both count nothing any more
-- the second one is forgotten.

-- a state brought to the time, with so many units more, up to a limit if the
-- clock stepped far back

local function advanced(key, text, now, limit, units)
    local pack, unpack, floor = struct.pack, struct.unpack, math.floor
    local kind, v, n, index = unpack('<c1I4BI6', text)

    if kind == 's' then
        local i = floor(now * n / v)
        local slots = { unpack('<' .. ('I7'):rep(n + 1), text, 13) }

        if i < index - n then
            local used = carried(key, text, now, limit)
            for j = 1, n + 1 do
                slots[j] = 0
            end
            index, slots[i % (n + 1) + 1] = i, used
        end
        for j = index + 1, math.min(i, index + n + 1) do
            slots[j % (n + 1) + 1] = 0
        end
        index = math.max(index, i)
        slots[index % (n + 1) + 1] = slots[index % (n + 1) + 1] + units

        return pack('<c1I4BI6' .. ('I7'):rep(n + 1), kind, v, n, index,
                    _G.unpack(slots, 1, n + 1))
    end

    local _, _, old, prev, curr = unpack('<c1I4I6I7I7', text)
    index = floor(now / v)

    if index < old - 1 then
        prev, curr = 0, carried(key, text, now, limit)
    elseif index > old then
        prev, curr = index == old + 1 and curr or 0, 0
    else
        index = old
    end
    curr = math.max(curr, math.min(curr + units, floor((2 ^ 53 - 1) / v)))

    return pack('<c1I4I6I7I7', kind, v, index, prev, curr)
end

-- The state of the window w, or nil; what is to stand behind it, nil if the
-- value is none of ours; the units of a state that begins now; and whether the
-- value is of a time to come, or nothing if it is as it was. size is that of a
-- state like this one.

local function converted(key, text, size, kind, n, w, now, limit)
    local used, ahead = carried(key, text, now, math.floor((2 ^ 53 - 1) / w))

    if not used then
        return nil, nil
    end
    if text:sub(1, 1) ~= kind or kind == 's' and text:byte(6) ~= n then
        return nil, '', math.min(used, limit), ahead
    end

    local own, other = text:sub(1, size), text:sub(size + 1)
    local v = struct.unpack('<I4', own, 2)
    local u = other ~= '' and struct.unpack('<I4', other, 2) or 0

    if v == w then
        return advanced(key, own, now, limit, 0), used > 0 and other or '', 0,
               ahead or nil
    end
    if u == w then
        return advanced(key, other, now, limit, 0), used > 0 and own or '', 0,
               ahead
    end
    if used == 0 then
        return nil, '', 0, ahead
    end

    -- units that left it are not in the new state either

    return nil, advanced(key, u > v and other or own, now, 2 ^ 53, 0), used,
           ahead
end
