-- Included by the takes, after log.lua.
--
-- Units that a value of another window or algorithm, or of a clock that stepped
-- far back, still holds, rounded up, at most a limit: they are carried over as
-- though taken now. nil if the value is none of ours. A log has the times, and
-- goes by the window there is now.
--
-- Second, whether the value is of a time to come: it has to be written anew
-- even if nothing is counted, or it would be carried until that time. If it is
-- not, it is written anew when something is refused: that would else be refused
-- for as long as the old window holds the units, not for the time in the reply.

local function carried(key, text, now, limit, window)
    local unpack, floor, max = struct.unpack, math.floor, math.max
    local kind, used, ahead = text:sub(1, 1), 0

    -- the state of another window may be behind it

    local size = kind == 's' and #text > 12 and 19 + 7 * text:byte(6) or 25

    if #text == 2 * size and kind ~= 'l' and kind ~= 'L' then
        local own, first = carried(key, text:sub(1, size), now, limit, window)
        local other = carried(key, text:sub(size + 1), now, limit, window)
        return own and other and max(own, other), first
    end

    if (kind == 'c' or kind == 'f') and #text == 25 then
        local _, w, index, prev, curr = unpack('<c1I4I6I7I7', text)
        if w == 0 then
            return nil
        end
        local past = floor(now / w) - index
        if past > 0 then
            prev, curr = past == 1 and curr or 0, 0
        end
        ahead = past < -1
        local gone = past >= 0 and now % w or 0

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
        ahead = floor(now * n / w) < index - n
        for j = max(max(floor(now * n / w), index) - n, 0), index do
            used = used + unpack('<I7', text, 13 + 7 * (j % (n + 1)))
        end

    elseif kind == 'l' or kind == 'L' then
        local p = opened(key, text)
        if not p then
            return nil
        end
        local w, before = window or p.window, p.base
        local first = search(p, TIME, max(now, p.newest) - w + 1,
                             p.ring > 0 and 2 or 1, p.count + 1)
        if first > 1 then
            before = at(p, first - 1, SUM)
        end
        ahead = p.newest - now > w
        used = p.last - before

    else
        return nil
    end

    return math.min(used, limit), ahead
end
