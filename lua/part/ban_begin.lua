-- Included by take.lua for take_ban, when all is decided.

for i = 1, #KEYS do
    local p = plans[i]
    local length, longest, begins, ends, last, moved
        = _G.unpack(p.ban, 1, 6)
    local left, began = max(ends - now, 0), 0

    if left == 0 and length > 0 and begins == 1 and p.admitted < times
        and (p.dry or p.admitted <= counted)
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
end
