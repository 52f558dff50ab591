-- Included by the takes, after carried.lua.
--
-- A value of a counter, fixed or strict is the state of one window, and behind
-- it there may be the state of another window, which counts all units that the
-- first one counts: no window erases anything of another. Of all windows that
-- were asked for, the longest is one of the two. When both states count nothing
-- any more the second one is forgotten.

-- a state brought to the time, with so many units more, as long as it can hold
-- them; what it held is at most a limit if the clock stepped far back

local function advance_state(key, state, now, limit, units)
    local pack, unpack, floor = struct.pack, struct.unpack, math.floor
    local kind, w, n, old_index = unpack('<c1I4BI6', state)
    local most = floor((2 ^ 53 - 1) / w)
    limit = math.min(limit, most)

    if kind == 's' then
        local index = floor(now * n / w)
        local slices = { unpack('<' .. ('I7'):rep(n + 1), state, 13) }

        if index < old_index - n then
            local used = carried(key, state, now, limit)
            for j = 1, n + 1 do
                slices[j] = 0
            end
            old_index, slices[index % (n + 1) + 1] = index, used
        end
        for j = old_index + 1, math.min(index, old_index + n + 1) do
            slices[j % (n + 1) + 1] = 0
        end
        index = math.max(old_index, index)

        local current = index % (n + 1) + 1
        slices[current] = math.max(slices[current],
                                   math.min(slices[current] + units, most))

        return pack('<c1I4BI6' .. ('I7'):rep(n + 1), kind, w, n, index,
                    _G.unpack(slices, 1, n + 1))
    end

    local _, _, index, prev, curr = unpack('<c1I4I6I7I7', state)
    old_index, index = index, floor(now / w)

    if index < old_index - 1 then
        prev, curr = 0, carried(key, state, now, limit)
    elseif index > old_index then
        prev, curr = index == old_index + 1 and curr or 0, 0
    else
        index = old_index
    end
    curr = math.max(curr, math.min(curr + units, most))

    return pack('<c1I4I6I7I7', kind, w, index, prev, curr)
end

-- Of a value, for the window w: the state of that window, or nil; the state to
-- write behind it, nil if the value is none of ours; the units of a state that
-- begins now; and whether the value is of the future, nil if the value can stay
-- as it is. size is that of one state. For a charge there is no room in a value
-- of another algorithm that counts anything, which stays as it is.

local function convert(key, text, size, kind, n, w, now, limit)
    local used, future = carried(key, text, now, math.floor((2 ^ 53 - 1) / w))

    if not used then
        return nil, nil
    end
    if text:sub(1, 1) ~= kind or kind == 's' and text:byte(6) ~= n then
        if is_charge and used > 0 then
            return nil, '', limit
        end
        return nil, '', math.min(used, limit), future
    end

    local own, other = text:sub(1, size), text:sub(size + 1)
    local own_w = struct.unpack('<I4', own, 2)
    local other_w = other ~= '' and struct.unpack('<I4', other, 2) or 0

    if own_w == w then
        return advance_state(key, own, now, limit, 0), used > 0 and other or '',
               0, future or nil
    end
    if other_w == w then
        return advance_state(key, other, now, limit, 0), used > 0 and own or '',
               0, future
    end
    if used == 0 then
        return nil, '', 0, future
    end

    -- units that have left the state that is kept are not in the new one either

    return nil, advance_state(key, other_w > own_w and other or own, now,
                              2 ^ 53, 0), used, future
end
