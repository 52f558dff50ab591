-- Not a script: what takes put in the place of "-- turn.lua", after carried.
--
-- A value of a counter, fixed or strict is the state of one window, and behind
-- it that of a longer one, which is kept while it counts: a shorter window
-- erases nothing of it. Here such a value is turned to the window w.

-- a state brought to the time, with so many units more

local function raised(key, text, now, limit, units)
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
    curr = math.min(curr + units, math.max(curr, floor((2 ^ 53 - 1) / v)))

    return pack('<c1I4I6I7I7', kind, v, index, prev, curr)
end

-- The state of the window, or nil; what is to stand behind it, nil if the value
-- is none of ours; the units of a state that begins now; and whether the value
-- is of a time to come. size is that of a state like this one.

local function turned(key, text, size, kind, n, w, now, limit)
    local used, ahead = carried(key, text, now, 2 ^ 53)

    if not used then
        return nil, nil
    end
    if text:sub(1, 1) ~= kind or kind == 's' and text:byte(6) ~= n then
        return nil, '', math.min(used, limit), ahead
    end

    local own, other = text:sub(1, size), text:sub(size + 1)
    local v, u, held = struct.unpack('<I4', own, 2), 0, 0

    used, ahead = carried(key, own, now, 2 ^ 53)
    if other ~= '' then
        u, held = struct.unpack('<I4', other, 2),
                  carried(key, other, now, 2 ^ 53)
    end

    if v == w then
        return raised(key, own, now, limit, 0), other, 0, ahead
    end
    if u == w then
        return raised(key, other, now, limit, math.max(used - held, 0)), '', 0,
               ahead
    end

    if v > w and used > 0 then
        if held == 0 or u < v then
            other = own
        elseif used > held then
            other = raised(key, other, now, 2 ^ 53, used - held)
        end
    elseif held == 0 or u < w then
        other = ''
    end

    return nil, other, math.min(math.max(used, held), limit), ahead
end
