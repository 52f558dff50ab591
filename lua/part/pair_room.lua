-- Included by the takes: how many whole units a counter or fixed has room for.

room = limit - curr
if kind == 'c' and prev > 0 then
    room = (limit * w - prev * (w - time % w) - curr * w) / w
    room = room - room % 1
end
