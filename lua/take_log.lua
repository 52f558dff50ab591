-- take for one policy that is a log: does what take.lua does, for 43,400
-- instructions instead of 75,000. If a log begins, or part/log_fast_path.lua
-- finds its total, this script decides and writes without a table: take.lua has
-- the same lines with one.

local key, call, pack, unpack = KEYS[1], redis.call, struct.pack, struct.unpack
local number, _, times, _, limit, w, _, cost, dry, prefetch
    = unpack('<I7I7I7c1I7I7I7I7I7I7', ARGV[1])
local now, text = call('TIME'), call('GETRANGE', key, '0', '1023')
local size, units = #text, times * cost

-- The fraction of now changes no comparison with a whole time, and pack cuts it
-- off.

now = now[1] * 1000 + now[2] / 1000

-- include part/log_fast_path.lua

-- In a reply, I14 and I21 are a number and one or two zeros.

if total and units > 0 then
    if total + units <= limit then
        if prefetch > 0 then
            units = units + math.min(prefetch, limit - total - units)
        end

        local entry = pack('<I6I6', now, last + units)

        if renew then
            call('SET', key, pack('<I5I6I6', 108 + 256 * w, now, base)
                             .. text:sub(from) .. entry,
                 'PX', ('%d'):format(2 * w))
        else
            call('APPEND', key, entry)
        end
        return pack('<I7I7I7I7I7I7I14', number, now, times, units,
                    total + units, oldest, now)
    end

    if total + cost > limit and sum - base >= total + cost - limit then
        return pack('<I7I21I7I7I7I7', number, now, total, oldest, newest,
                    oldest)
    end
end

if size == 0 and units > 0 and units <= limit then
    if prefetch > 0 then
        units = units + math.min(prefetch, limit - units)
    end
    call('SET', key, pack('<I5I6I6I6I6', 108 + 256 * w, now, 0, now, units),
         'PX', ('%d'):format(2 * w))
    return pack('<I7I7I7I7I7I7I14', number, now, times, units, units, now, now)
end

now = now - now % 1

local is_charge = dry == 2

-- include part/log.lua
-- include part/carried.lua
-- include part/log_take.lua

local p = load_log(key, text, now, limit, w)

if not p then
    return redis.error_reply('SLIDEWIN a key holds another value')
end

local room, rewrite, need, fits = limit - p.total, p.rewrite

-- include part/admit.lua

if admitted < times and cost <= limit then
    need = p.total + units + cost - limit
end

oldest, fits = log_times(p, units, need, limit)

if units > 0 or rewrite then
    write_log(p, units)
end

return pack('<I7I7I7I7I7I7I7I7', number, now, admitted, units,
            p.total + units, oldest, units > 0 and p.time or p.newest, fits)
