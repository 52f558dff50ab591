-- take for one policy that is a log: the same as take.lua says, for less.
-- Functions are made where they are needed, and numbers that are known are
-- written as Redis takes them.

local HEAD = 1024
local key, unpack, floor = KEYS[1], struct.unpack, math.floor
local number, _, times, _, limit, w, _, cost, _, beyond
    = unpack('<I7I7I7c1I7I7I7I7I7I7', ARGV[1])
local now = redis.call('TIME')

now = now[1] * 1000 + floor(now[2] / 1000)

local text = redis.call('GETRANGE', key, '0', '1023')
local size, last = #text

if size == HEAD then
    size = redis.call('STRLEN', key)
    last = redis.call('GETRANGE', key, '-12', '-1')
end

local time, count, first, before, total, newest = now, 0, 1, 0, 0, 0
local oldest, fits, rewrite, moved = 0, 0, true

if size > 0 then
    local k, v, since, base

    if size >= 17 and (size - 17) % 12 == 0 then
        k, v, since, base = unpack('<c1I4I6I6', text)
        count = (size - 17) / 12
        if last then
            newest, total = unpack('<I6I6', last)
        elseif count > 0 then
            newest, total = unpack('<I6I6', text, size - 11)
        end
    end

    if k ~= 'l' or newest - now > w then
        -- carried.lua

        total, moved = carried(redis.call('GET', key), now, limit,
                               k == 'l' and w or nil)
        if not total then
            return redis.error_reply('SLIDEWIN a key holds another value')
        end
        text = struct.pack('<c1I4I6I6I6I6', 'l', w, now, 0, now, total)
        size, count, newest, oldest = #text, 1, now, now

    elseif count > 0 then
        if newest > now then
            time = newest
        end
        before = base
        rewrite = v ~= w or time >= since + w / 2

        oldest = unpack('<I6', text, 18)

        if oldest <= time - w then
            -- search.lua

            first = search(key, text, 6, time - w + 1, 2, count + 1)
            before = at(key, text, 12 * first)
            oldest = first <= count and at(key, text, 12 * first + 6)
        end
        total = total - before
    end
end

if total == 0 then
    before, oldest, newest, rewrite = 0, 0, 0, true
end

local room, admitted, units, added = limit - total, 0, 0, ''

if cost == 0 then
    admitted = times
elseif cost <= room then
    admitted = math.min(times, floor(room / cost))
    units = admitted * cost
    if admitted == times then
        units = units + math.min(beyond, room - units)
    end
    added = struct.pack('<I6I6', time, before + total + units)
end

if moved == false then
    moved = admitted == 0
end

if admitted < times and cost <= limit then
    local need = before + total + units + cost - limit
    if need > before + total then
        fits = time
    else
        -- search.lua

        fits = search(key, text, 12, need, first, count)
        fits = at(key, text, 12 * fits + 6)
    end
end

if units > 0 and not rewrite then
    redis.call('APPEND', key, added)

elseif units > 0 or moved then
    local live = ''
    if total > 0 then
        live = size <= HEAD and text:sub(12 * first + 6)
               or redis.call('GETRANGE', key, 12 * first + 5, -1)
    end
    live = live .. added
    if before >= 2 ^ 47 then
        -- rebased.lua

        live, before = rebased(live, before), 0
    end
    redis.call('SET', key, struct.pack('<c1I4I6I6', 'l', w, time, before)
                           .. live, 'PX', 2 * w)
end

if units > 0 then
    oldest = total > 0 and oldest or time
    total, newest = total + units, time
end

return struct.pack('<I7I7I7I7I7I7I7I7', number, now, admitted, units, total,
                   oldest, newest, fits)
