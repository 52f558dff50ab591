-- Included by the takes of one policy: how many of times requests are admitted,
-- and the units to count, with as much prefetch as there is room for. A value
-- that was converted (rewrite is false) is written if it rejects all requests.

local admitted, units = 0, 0

if cost == 0 then
    admitted = times
elseif cost <= room then
    admitted, units = 1, cost
    if times > 1 or prefetch > 0 then
        admitted = math.min(times, math.floor(room / cost))
        units = admitted * cost
        if admitted == times then
            units = units + math.min(prefetch, room - units)
        end
    end
end

if rewrite == false then
    rewrite = admitted == 0
end
