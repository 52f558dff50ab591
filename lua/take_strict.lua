-- take for one policy that is strict: the same as take.lua says, for less.

local key, floor = KEYS[1], math.floor
local number, _, times, _, limit, w, n, cost, _, beyond
    = struct.unpack('<I7I7I7c1I7I7I7I7I7I7', ARGV[1])
local now = redis.call('TIME')

now = now[1] * 1000 + floor(now[2] / 1000)

local text = redis.call('GET', key)
local time, index, total, other, raise, moved, same
    = now, floor(now * n / w), 0, ''
local size, long = n + 1, 19 + 7 * n
local numbers, slots, old = '<' .. ('I7'):rep(size)

if text then
    local k, v, m

    if #text == long then
        k, v, m, old = struct.unpack('<c1I4BI6', text)
    end

    if k ~= 's' or v ~= w or m ~= n or index < old - n then
        -- include part/log.lua
        -- include part/carried.lua
        -- include part/turn.lua

        raise = raised
        text, other, total, moved = turned(key, text, long, 's', n, w, now,
                                            limit)
        if not other then
            return redis.error_reply('SLIDEWIN a key holds another value')
        end
        if text then
            k, v, m, old = struct.unpack('<c1I4BI6', text)
        end
    end
end

if text then
    slots = { struct.unpack(numbers, text, 13) }
    same = index == old and not raise

    for j = old + 1, math.min(index, old + size) do
        slots[j % size + 1] = 0
    end
    total = 0
    for j = 1, size do
        total = total + slots[j]
    end
    if index < old then
        time, index = floor((old * w + n - 1) / n), old
    end
else
    slots = {}
    for j = 1, size do
        slots[j] = 0
    end
    slots[index % size + 1] = total
end

local room, admitted, units = limit - total, 0, 0

if cost == 0 then
    admitted = times
elseif cost <= room then
    admitted = math.min(times, floor(room / cost))
    units = admitted * cost
    if admitted == times then
        units = units + math.min(beyond, room - units)
    end
end

if moved == false then
    moved = admitted == 0
end

slots[index % size + 1] = slots[index % size + 1] + units

local value = struct.pack(numbers, unpack(slots, 1, size))

if units > 0 or moved then
    local all = struct.pack('<c1I4BI6', 's', w, n, index) .. value

    if same then
        redis.call('SET', key, all, 'KEEPTTL')
    else
        local ttl = floor(((index + size) * w + n - 1) / n) - time + 1000

        ttl = math.min(ttl, 2 * w)
        if other ~= '' then
            -- include part/ends.lua

            if units > 0 then
                other = raise(key, other, now, 2 ^ 53, units)
            end
            ttl = math.max(ttl, ends(other, now))
        end
        redis.call('SET', key, all .. other, 'PX', ttl)
    end
end

return struct.pack('<I7I7I7I7I7', number, now, admitted, units, index) .. value
