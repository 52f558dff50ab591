-- take: checks all policies of a request and counts all of them or none. One
-- call may stand for several requests that ask for the same, in their order: as
-- many of them are admitted, from the first on, as would be one by one.
--
-- KEYS[i]   the client of policy i; all of one slot
-- ARGV[1]   numbers of 7 bytes each, the lowest first:
--           number of the call, echoed: a reply that is not ours is found out
--           the time in ms as the caller knows it, 0 if it does not
--           times, how many requests ask (1 if any policy is in dry run)
--           and of each policy: algorithm (a letter: c counter, f fixed,
--           s strict, l log), limit, window in ms, slices (0 but for strict),
--           cost (0 peeks), dry run (1 or 0), prefetch: units to count beside
--           the cost, as many as there is room for, if all are admitted
--
-- reply     numbers of 7 bytes each: number, time, and of each policy:
--             how many it admits, the units it counted, then what is left:
--             c, f: index, previous, current
--             s:    index, units of slices + 1 slots
--             l:    total, oldest, newest, and the entry whose leaving makes
--                   room for the cost, times in ms, 0 for none
--
-- The caller's time is good for a counter or fixed that it leaves in the window
-- it is in. What would begin another, has two windows, or is a log or strict,
-- which are exact, goes by this server's own: whatever a caller believes,
-- nothing that is alive is dropped or stamped anew.
--
-- A request that a policy refuses which is not in dry run is counted by none; a
-- refused one in dry run leaves those in dry run uncounted. Nothing is written
-- before all is decided: an error leaves no trace. What is not counted is not
-- written, but for a state that a clock set back has left in the future, and
-- one of another window or algorithm that refuses.
--
-- A value begins with the letter of its algorithm and its window:
--   c, f  window, index, previous, current
--   s     window, slices, index, units of slices + 1 slots
--   l     as log.lua has it
-- Behind those of c, f and s may be one of another window, see convert.lua.
-- The arithmetic is that of sw_window.c, in doubles that stay below 2^53 and so
-- are exact.

local PAIR = '<c1I4I6I7I7'
local floor, max, min = math.floor, math.max, math.min
local pack, unpack = struct.pack, struct.unpack
local call = redis.call

local tools

local function tool(name)
    if not tools then
        -- include part/log.lua
        -- include part/carried.lua
        -- include part/convert.lua
        -- include part/log_take.lua

        tools = { converted = converted, advanced = advanced,
                  look_log = look_log, log_times = log_times,
                  write_log = write_log }
    end
    return tools[name]
end

local number, now, times = unpack('<I7I7I7', ARGV[1])

local function foreign()
    return redis.error_reply('SLIDEWIN a key holds another value')
end

local plans, n, dry_counts

-- own: the time is this server's; true if it must be, an error, or nothing

local function look(own)
    plans, n, dry_counts = {}, times, true

    for i = 1, #KEYS do
        local kind, limit, w, slices, cost, dry, prefetch
            = unpack('<c1I7I7I7I7I7I7', ARGV[1], 43 * i - 21)
        local key, room, rewrite, p = KEYS[i]

        if not own and (kind == 'l' or kind == 's') then
            return true
        end

        if kind == 'l' then
            local text = call('GETRANGE', key, '0', '1023')
            local size = #text

            -- include part/log_short.lua

            if size == 0 then
                text, total, base, last = '', 0, 0, 0
                oldest, sum, newest, from, renew = 0, 0, 0, 1, true
            end

            if total then
                -- leaves: the units of the oldest; with what is added below it
                -- is a table of 16 fields, and has room for them at once
                p = { total = total, oldest = oldest, newest = newest,
                      last = last, leaves = sum - base, kind = kind,
                      limit = limit, w = w, head = renew
                      and pack('<I5I6I6', 108 + 256 * w, now, base)
                          .. text:sub(from) }
            else
                p = tool('look_log')(key, text, now, limit, w)
                if not p then
                    return foreign()
                end
                total, rewrite = p.total, p.rewrite
            end
            room = limit - total

        elseif kind == 's' then
            local text, n = redis.call('GET', key), slices
            local time, index, total, other, kept, same
                = now, floor(now * n / w), 0, nil, true
            local size, long = n + 1, 19 + 7 * n
            local numbers, k, v, m, old = '<' .. ('I7'):rep(size)

            if text then
                if #text == long then
                    k, v, m, old = unpack('<c1I4BI6', text)
                end

                if k ~= 's' or v ~= w or m ~= n or index < old - n then
                    kept = false
                    text, other, total, rewrite
                        = tool('converted')(key, text, long, 's', n, w, now,
                                            limit)
                    if not other then
                        return foreign()
                    end
                    if text then
                        k, v, m, old = unpack('<c1I4BI6', text)
                    end
                end
            end

            -- include part/slices.lua

            room = limit - total
            p, slots.numbers, slots.other, slots.same
                = slots, numbers, other, same
            p.time, p.index = time, index

        else
            local time, index, prev, curr, same = now, floor(now / w), 0, 0
            local text, other, k, v, old, was, is = redis.call('GET', key)

            if text then
                if #text == 25 or #text == 50 then
                    k, v, old, was, is = unpack(PAIR, text)
                end
                if not own and (index ~= old or k ~= kind or v ~= w
                                or #text > 25)
                then
                    return true
                end

                if k ~= kind or v ~= w or index < old - 1 or #text > 25 then
                    text, other, curr, rewrite
                        = tool('converted')(key, text, 25, kind, 0, w, now,
                                            limit)
                    if not other then
                        return foreign()
                    end
                    if text then
                        k, v, index, prev, curr = unpack(PAIR, text)
                        time = max(time, index * w)
                    end
                else
                    -- include part/pair_advance.lua
                end
            end

            -- include part/pair_room.lua

            -- with what is added below it is a table of 16 fields
            p = { time = time, index = index, prev = prev, curr = curr,
                  same = same, other = other, kind = kind, limit = limit,
                  w = w }
        end

        local admitted = times
        if cost > 0 then
            admitted = min(times, floor(max(room, 0) / cost))
        end
        if rewrite == false then
            rewrite = admitted == 0
        end
        if dry == 0 then
            n = min(n, admitted)
        elseif admitted < times then
            dry_counts = false
        end

        p.kind, p.limit, p.w, p.slices, p.cost = kind, limit, w, slices, cost
        p.dry, p.prefetch, p.room = dry == 1, prefetch, room
        p.admitted, p.rewrite = admitted, rewrite
        plans[i] = p
    end
end

local odd = now == 0 or look(false)

if odd == true then
    local t = redis.call('TIME')
    now = t[1] * 1000 + floor(t[2] / 1000)
    odd = look(true)
end
if odd then
    return odd
end

local reply, m = { number, now }, 2

for i = 1, #KEYS do
    local key, p = KEYS[i], plans[i]
    local kind, w, cost = p.kind, p.w, p.cost
    local k = (dry_counts or not p.dry) and n or 0
    local time, units, value, ttl = p.time or now, k * cost

    if k == times and cost > 0 then
        units = units + min(p.prefetch, p.room - units)
    end

    reply[m + 1], reply[m + 2] = p.admitted, units

    if kind == 'l' then
        local total, need = p.total

        if p.admitted < times and p.admitted <= n and cost <= p.limit then
            need = total + units + cost - p.limit
        end

        -- which of several entries makes room is not for the short way

        if p.leaves and need and need <= total and need > p.leaves then
            p = tool('look_log')(key, call('GETRANGE', key, '0', '1023'), now,
                                 p.limit, w)
        end

        reply[m + 3] = total + units
        reply[m + 5] = units > 0 and time or p.newest

        if p.leaves then
            reply[m + 4] = total == 0 and units > 0 and time or p.oldest
            reply[m + 6] = not need and 0 or need > total and time or p.oldest
        else
            reply[m + 4], reply[m + 6] = tool('log_times')(p, units, need)
        end
        m = m + 6

        if not p.leaves then
            if units > 0 or p.rewrite then
                tool('write_log')(p, units)
            end
        elseif units > 0 then
            local entry = pack('<I6I6', time, p.last + units)

            if p.head then
                value, ttl = p.head .. entry, 2 * w
            else
                call('APPEND', key, entry)
            end
        end

    elseif kind == 's' then
        local slices, index = p.slices, p.index
        local size = slices + 1
        local slot = index % size + 1

        p[slot] = p[slot] + units

        if units > 0 or p.rewrite then
            value = pack('<c1I4BI6', 's', w, slices, index)
                    .. pack(p.numbers, _G.unpack(p, 1, size))
            ttl = floor(((index + size) * w + slices - 1) / slices)
                  - time + 1000
        end

        reply[m + 3] = index
        for j = 1, size do
            reply[m + 3 + j] = p[j]
        end
        m = m + 3 + size

    else
        local index, prev, curr = p.index, p.prev, p.curr + units

        if units > 0 or p.rewrite then
            value = pack(PAIR, kind, w, index, prev, curr)
            ttl = (index + (kind == 'c' and 2 or 1)) * w - time + 1000
        end

        reply[m + 3], reply[m + 4], reply[m + 5] = index, prev, curr
        m = m + 5
    end

    -- in the same window or slice, the end of the key stays as it is

    if value and p.same then
        call('SET', key, value, 'KEEPTTL')
    elseif value then
        local other, advance = p.other or '', tools and tools.advanced

        -- include part/set.lua
    end
end

return pack('<' .. ('I7'):rep(m), _G.unpack(reply))
