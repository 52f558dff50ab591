-- take for one policy that is a counter or fixed, the most frequent call: does
-- what take.lua does, with the same arithmetic. take.lua keeps a plan for each
-- policy until all are decided, and functions for rare cases: an admitted check
-- costs Redis 65,000 instructions there and 35,400 here.

local key, floor = KEYS[1], math.floor
local number, now, times, kind, limit, w, _, cost, dry, prefetch
    = struct.unpack('<I7I7I7c1I7I7I7I7I7I7', ARGV[1])

local text, index, old_kind, old_w, old_index, old_prev, old_curr
    = redis.call('GET', key), floor(now / w)

if text and #text % 25 == 0 and #text > 0 then
    old_kind, old_w, old_index, old_prev, old_curr
        = struct.unpack('<c1I4I6I7I7', text)
end

if now == 0 or text and (index ~= old_index or old_kind ~= kind or old_w ~= w
                         or #text > 25)
then
    local t = redis.call('TIME')
    now = t[1] * 1000 + floor(t[2] / 1000)
    index = floor(now / w)
end

local time, prev, curr, other, room, advance, rewrite, keep_ttl
    = now, 0, 0, ''

if text then
    if old_kind ~= kind or old_w ~= w or index < old_index - 1 or #text > 25
    then
        -- include part/log.lua
        -- include part/carried.lua
        local is_charge = dry == 2

        -- include part/convert.lua

        local own
        advance = advance_state
        own, other, curr, rewrite
            = convert(key, text, 25, kind, 0, w, now, limit)
        if not other then
            return redis.error_reply('SLIDEWIN a key holds another value')
        end
        if own then
            index, prev, curr = struct.unpack('<I6I7I7', own, 6)
            time = math.max(time, index * w)
        end
    else
        -- include part/pair_advance.lua
    end
end

-- include part/pair_room.lua
-- include part/admit.lua

if units > 0 or rewrite then
    curr = curr + units
    local value = struct.pack('<c1I4I6I7I7', kind, w, index, prev, curr)

    if keep_ttl then
        redis.call('SET', key, value, 'KEEPTTL')
    else
        local ttl = (index + (kind == 'c' and 2 or 1)) * w - time + 1000

        -- include part/write_value.lua
    end
end

return struct.pack('<I7I7I7I7I7I7I7', number, now, admitted, units, index,
                   prev, curr)
