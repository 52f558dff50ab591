-- take for one policy that is strict: does what take.lua does, with the same
-- arithmetic, for 72,600 instructions instead of 125,000.

local key, floor = KEYS[1], math.floor
local number, _, times, _, limit, w, n, cost, dry, prefetch
    = struct.unpack('<I7I7I7c1I7I7I7I7I7I7', ARGV[1])
local now = redis.call('TIME')

now = now[1] * 1000 + floor(now[2] / 1000)

local text = redis.call('GET', key)
local time, index, total, other, as_stored, advance, rewrite, keep_ttl
    = now, floor(now * n / w), 0, '', true
local size, state_size = n + 1, 19 + 7 * n
local format, old_index = '<' .. ('I7'):rep(size)

if text then
    local old_kind, old_w, old_n

    if #text == state_size then
        old_kind, old_w, old_n, old_index = struct.unpack('<c1I4BI6', text)
    end

    if old_kind ~= 's' or old_w ~= w or old_n ~= n
        or index < old_index - n
    then
        -- include part/log.lua
        -- include part/carried.lua
        local is_charge = dry == 2

        -- include part/convert.lua

        advance, as_stored = advance_state, false
        text, other, total, rewrite
            = convert(key, text, state_size, 's', n, w, now, limit)
        if not other then
            return redis.error_reply('SLIDEWIN a key holds another value')
        end
        if text then
            old_index = struct.unpack('<I6', text, 7)
        end
    end
end

-- include part/slices_advance.lua

local room = limit - total

-- include part/admit.lua

slices[index % size + 1] = slices[index % size + 1] + units

local packed = struct.pack(format, unpack(slices, 1, size))

if units > 0 or rewrite then
    local value = struct.pack('<c1I4BI6', 's', w, n, index) .. packed

    if keep_ttl then
        redis.call('SET', key, value, 'KEEPTTL')
    else
        local ttl = floor(((index + size) * w + n - 1) / n) - time + 1000

        -- include part/write_value.lua
    end
end

return struct.pack('<I7I7I7I7I7', number, now, admitted, units, index) .. packed
