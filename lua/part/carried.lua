-- Included by the takes, after log.lua.
--
-- Units that a value of another window or algorithm, or of a clock that stepped
-- far back, still holds, rounded up, at most a limit: they are carried over as
-- though taken now. nil if the value is none of ours.
--
-- Second, whether the value is of the future: it has to be written anew even if
-- nothing is counted, or its units would be carried until that time. A value
-- that is not of the future is written anew when a request is rejected: further
-- requests would else be rejected for as long as the old window holds the
-- units, not for the time in the reply.

local function carried(key, text, now, limit)
    local unpack, floor, max = struct.unpack, math.floor, math.max
    local kind, used, future = text:sub(1, 1), 0

    -- the state of another window may be behind the first one

    local size = kind == 's' and #text > 12 and 19 + 7 * text:byte(6) or 25

    if #text == 2 * size and kind ~= 'l' and kind ~= 'L' then
        local own, own_future = carried(key, text:sub(1, size), now, limit)
        local other = carried(key, text:sub(size + 1), now, limit)
        return own and other and max(own, other), own_future
    end

    if (kind == 'c' or kind == 'f') and #text == 25 then
        local _, w, index, prev, curr = unpack('<c1I4I6I7I7', text)
        if w == 0 then
            return nil
        end
        local ended = floor(now / w) - index
        if ended > 0 then
            prev, curr = ended == 1 and curr or 0, 0
        end
        future = ended < -1
        local gone = ended >= 0 and now % w or 0

        -- the quotient of two doubles may be rounded up to the next unit
        used = curr
        if kind == 'c' and prev > 0 then
            used = floor(prev * (w - gone) / w) + curr
            if (used - curr) * w < prev * (w - gone) then
                used = used + 1
            end
        end

    elseif kind == 's' and #text > 12 then
        local _, w, n, index = unpack('<c1I4BI6', text)
        if w == 0 or n == 0 or #text ~= 19 + 7 * n then
            return nil
        end
        future = floor(now * n / w) < index - n
        for j = max(max(floor(now * n / w), index) - n, 0), index do
            used = used + unpack('<I7', text, 13 + 7 * (j % (n + 1)))
        end

    elseif kind == 'l' or kind == 'L' then
        local p = parse_log(key, text)
        if not p then
            return nil
        end
        local w, before = p.window, p.base
        local first = search(p, TIME, max(now, p.newest) - w + 1,
                             p.ring > 0 and 2 or 1, p.count + 1)
        if first > 1 then
            before = at(p, first - 1, SUM)
        end
        future = p.newest - now > w
        used = p.last - before

    else
        return nil
    end

    return math.min(used, limit), future
end
