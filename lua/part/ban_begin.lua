-- Included by take.lua for take_ban, when all is decided.

-- Whether the window of a plan, with so many units counted, has room for the cost
-- after wait ms. of_log is, for a log, the time of the entry that has to leave.

local function has_room_after(p, units, wait, of_log)
    local kind, w, n, index, time = p.kind, p.w, p.n, p.index, now + wait

    if p.cost > p.limit then
        return false
    end
    if kind == 'l' then
        return of_log + w <= time
    end
    if time < p.time then
        return false
    end

    if kind == 's' then
        units = 0
        for i = max(floor(time * n / w) - n, 0), index do
            units = units + p[i % (n + 1) + 1]
        end
        return units + p.cost <= p.limit
    end

    local prev, curr = p.prev, p.curr + units
    local ended = floor(time / w) - index

    if ended > 0 then
        prev, curr = ended == 1 and curr or 0, 0
    end
    if kind == 'f' then
        prev = 0
    end
    return prev * (w - time % w) + (curr + p.cost) * w <= p.limit * w
end

local first = 2

for i = 1, #KEYS do
    local p = plans[i]
    local length, longest, begins, ends, last, moved
        = _G.unpack(p.ban, 1, 6)
    local left, began = max(ends - now, 0), 0

    if left == 0 and length > 0 and begins > 0 and p.admitted < times
        and (p.dry or p.admitted <= counted)
        and not (begins > 1 and has_room_after(p, reply[first + 2], begins - 1,
                                               reply[first + 6]))
    then
        if last > 0 and longest > 0 and now - ends <= longest then
            length = min(max(2 * last, length), longest)
        end
        ends, last, left, began, moved = now + length, length, length, 1, true
    end

    if moved then
        call('SET', bans[#KEYS + i], pack('<I7I7', ends, last), 'PX',
             left + longest)
    end

    reply[len + 1], reply[len + 2] = left, began
    len = len + 2
    first = first + (p.kind == 's' and p.n + 4 or p.kind == 'l' and 6 or 5)
end
