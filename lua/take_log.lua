-- take for one policy that is a log: the same as take.lua says, for less where
-- a short log is added to and nothing else happens.

local key, unpack = KEYS[1], struct.unpack
local number, _, times, _, limit, w, _, cost, _, beyond
    = unpack('<I7I7I7c1I7I7I7I7I7I7', ARGV[1])
local now = redis.call('TIME')
local text = redis.call('GETRANGE', key, '0', '1023')
local size = #text

now = now[1] * 1000 + math.floor(now[2] / 1000)

if size >= 29 then
    local k, v, since, base, oldest, sum = unpack('<c1I4I6I6I6I6', text)
    local newest, last

    if size < 1024 then
        newest, last = unpack('<I6I6', text, size - 11)
    else
        size = redis.call('STRLEN', key)
        newest, last = unpack('<I6I6', redis.call('GETRANGE', key, '-12',
                                                  '-1'))
    end

    if k == 'l' and v == w and (size - 17) % 12 == 0
        and now >= newest and oldest > now - w and now < since + w / 2
        and last > base and cost > 0
    then
        local total, units, admitted, fits = last - base, times * cost, times, 0

        if units <= limit - total then
            if beyond > 0 then
                units = units + math.min(beyond, limit - total - units)
            end
            total, newest = total + units, now
            redis.call('APPEND', key, struct.pack('<I6I6', now, last + units))
        elseif total + cost > limit and sum - base >= total + cost - limit
        then
            units, admitted, fits = 0, 0, oldest
        else
            admitted = nil
        end
        if admitted then
            return struct.pack('<I7I7I7I7I7I7I7I7', number, now, admitted,
                               units, total, oldest, newest, fits)
        end
    end
end

-- log.lua
-- carried.lua
-- log_take.lua

local p = look_log(key, text, now, limit, w)

if not p then
    return redis.error_reply('SLIDEWIN a key holds another value')
end

local room, admitted, units, need = limit - p.total, 0, 0

if cost == 0 then
    admitted = times
elseif cost <= room then
    admitted = math.min(times, math.floor(room / cost))
    units = admitted * cost
    if admitted == times then
        units = units + math.min(beyond, room - units)
    end
end

if admitted < times and cost <= limit then
    need = p.total + units + cost - limit
end

local oldest, fits = log_times(p, units, need)

if units > 0 or p.moved or p.moved == false and admitted == 0 then
    write_log(p, units)
end

return struct.pack('<I7I7I7I7I7I7I7I7', number, now, admitted, units,
                   p.total + units, oldest, units > 0 and p.time or p.newest,
                   fits)
