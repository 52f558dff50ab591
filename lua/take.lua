-- take: checks all policies of a request and counts all of them or none. One
-- call may stand for several requests that ask for the same, in their order: as
-- many of them are admitted, from the first on, as would be one by one.
--
-- KEYS[i]   the client of policy i; all of one slot
-- ARGV[1]   numbers of 7 bytes each, the lowest first:
--           number of the call, returned: tells a reply to another call apart
--           the time in ms as the caller knows it, 0 if it does not
--           times, how many requests ask (1 if any policy is in dry run)
--           and of each policy: algorithm (a letter: c counter, f fixed,
--           s strict, l log), limit, window in ms, slices (0 but for strict),
--           cost (0 peeks), dry run (1 or 0; 2 in a call of one policy: a
--           charge), prefetch: units to count beside the cost, as many as there
--           is room for, if all are admitted
--
-- reply     numbers of 7 bytes each: number, time, and of each policy:
--             how many it admits, the units it counted, then its state:
--             c, f: index, previous, current
--             s:    index, units of slices + 1 slices: one is leaving
--             l:    total, and the times in ms, 0 for none, of the entry whose
--                   leaving makes more room than there is (the oldest, unless
--                   more is used than the limit), of the newest entry, and of
--                   the entry whose leaving makes room for the cost
--
-- The caller's time is good for a counter or fixed that stays in its window. A
-- call that would begin another window, a value of two windows, and log and
-- strict, which are exact, go by this server's own time: whatever a caller
-- believes, no unit that still counts is dropped or gets another time.
--
-- A request that a policy rejects is counted by no policy; if the one that
-- rejects is in dry run, by no policy in dry run. Nothing is written before all
-- policies are decided: an error leaves no trace. Without units to count
-- nothing is written, except for a state that a clock set back has left in the
-- future, and a state of another window or algorithm that rejects.
--
-- A value begins with the letter of its algorithm and its window:
--   c, f  window, index, previous, current
--   s     window, slices, index, units of slices + 1 slices
--   l     see part/log.lua
-- Behind a state of c, f and s there may be one of another window, see
-- part/convert.lua.
-- The arithmetic is that of sw_window.c, in doubles that stay below 2^53 and so
-- are exact.

local PAIR = '<c1I4I6I7I7'
local floor, max, min = math.floor, math.max, math.min
local pack, unpack = struct.pack, struct.unpack
local call = redis.call

-- functions for rare cases: made when the first is needed

local helpers

local function helper()
    if not helpers then
        local is_charge = false

        -- include part/log.lua
        -- include part/carried.lua
        -- include part/convert.lua
        -- include part/log_take.lua

        helpers = { convert = convert, advance_state = advance_state,
                    load_log = load_log, log_times = log_times,
                    write_log = write_log }
    end
    return helpers
end

local number, now, times = unpack('<I7I7I7', ARGV[1])

local function foreign()
    return redis.error_reply('SLIDEWIN a key holds another value')
end

-- counted: the requests that all policies not in dry run admit; dry_counts:
-- whether the policies in dry run count them too

local plans, counted, dry_counts

-- Makes a plan for each policy. Returns true if now has to be this server's
-- time and is not, or an error, or nothing.

local function check_all(server_time)
    plans, counted, dry_counts = {}, times, true

    for i = 1, #KEYS do
        local kind, limit, w, n, cost, dry, prefetch
            = unpack('<c1I7I7I7I7I7I7', ARGV[1], 43 * i - 21)
        local key, room, rewrite, p = KEYS[i]

        if not server_time and (kind == 'l' or kind == 's') then
            return true
        end

        if kind == 'l' then
            local text = call('GETRANGE', key, '0', '1023')
            local size = #text

            -- include part/log_fast_path.lua

            if size == 0 then
                text, total, base, last = '', 0, 0, 0
                oldest, sum, newest, from, renew = 0, 0, 0, 1, true
            end

            if total then
                -- oldest_units are set on the fast path alone. With the
                -- fields that are set below, the table has 16: Lua allocates
                -- it once.
                p = { total = total, oldest = oldest, newest = newest,
                      last = last, oldest_units = sum - base, kind = kind,
                      limit = limit, w = w, head = renew
                      and pack('<I5I6I6', 108 + 256 * w, now, base)
                          .. text:sub(from) }
            else
                p = helper().load_log(key, text, now, limit, w)
                if not p then
                    return foreign()
                end
                total, rewrite = p.total, p.rewrite
            end
            room = limit - total

        elseif kind == 's' then
            local text = call('GET', key)
            local time, index, total, other, as_stored, keep_ttl
                = now, floor(now * n / w), 0, nil, true
            local size, state_size = n + 1, 19 + 7 * n
            local format, old_kind, old_w, old_n, old_index
                = '<' .. ('I7'):rep(size)

            if text then
                if #text == state_size then
                    old_kind, old_w, old_n, old_index
                        = unpack('<c1I4BI6', text)
                end

                if old_kind ~= 's' or old_w ~= w or old_n ~= n
                    or index < old_index - n
                then
                    as_stored = false
                    text, other, total, rewrite
                        = helper().convert(key, text, state_size, 's', n, w,
                                            now, limit)
                    if not other then
                        return foreign()
                    end
                    if text then
                        old_index = unpack('<I6', text, 7)
                    end
                end
            end

            -- include part/slices_advance.lua

            room = limit - total
            p, slices.format, slices.other, slices.keep_ttl
                = slices, format, other, keep_ttl
            p.time, p.index = time, index

        else
            local time, index, prev, curr, keep_ttl = now, floor(now / w), 0, 0
            local text, other, old_kind, old_w, old_index, old_prev, old_curr
                = call('GET', key)

            if text then
                if #text == 25 or #text == 50 then
                    old_kind, old_w, old_index, old_prev, old_curr
                        = unpack(PAIR, text)
                end

                local differs = old_kind ~= kind or old_w ~= w or #text > 25

                if not server_time and (differs or index ~= old_index) then
                    return true
                end

                if differs or index < old_index - 1 then
                    text, other, curr, rewrite
                        = helper().convert(key, text, 25, kind, 0, w, now,
                                            limit)
                    if not other then
                        return foreign()
                    end
                    if text then
                        index, prev, curr = unpack('<I6I7I7', text, 6)
                        time = max(time, index * w)
                    end
                else
                    -- include part/pair_advance.lua
                end
            end

            -- include part/pair_room.lua

            -- with the fields that are set below, the table has 16
            p = { time = time, index = index, prev = prev, curr = curr,
                  keep_ttl = keep_ttl, other = other, kind = kind,
                  limit = limit, w = w }
        end

        local admitted = times
        if cost > 0 then
            admitted = min(times, floor(max(room, 0) / cost))
        end
        if rewrite == false then
            rewrite = admitted == 0
        end
        if dry == 0 then
            counted = min(counted, admitted)
        elseif admitted < times then
            dry_counts = false
        end

        p.kind, p.limit, p.w, p.n, p.cost = kind, limit, w, n, cost
        p.dry, p.prefetch, p.room = dry == 1, prefetch, room
        p.admitted, p.rewrite = admitted, rewrite
        plans[i] = p

        -- include part/ban_check.lua for take_ban
    end
end

local err = now == 0 or check_all(false)

if err == true then
    local t = call('TIME')
    now = t[1] * 1000 + floor(t[2] / 1000)
    err = check_all(true)
end
if err then
    return err
end

local reply, len = { number, now }, 2

for i = 1, #KEYS do
    local key, p = KEYS[i], plans[i]
    local kind, w, cost = p.kind, p.w, p.cost
    local requests = (dry_counts or not p.dry) and counted or 0
    local time, units, value, ttl = p.time or now, requests * cost

    if requests == times and cost > 0 then
        units = units + min(p.prefetch, p.room - units)
    end

    reply[len + 1], reply[len + 2] = p.admitted, units

    if kind == 'l' then
        local total, limit, need = p.total, p.limit

        if p.admitted < times and p.admitted <= counted and cost <= limit
        then
            need = total + units + cost - limit
        end

        -- the fast path does not find which of several entries makes room

        if (need or total > limit) and p.oldest_units
            and (total - limit >= p.oldest_units or need
                 and need <= total and need > p.oldest_units)
        then
            p = helper().load_log(key, call('GETRANGE', key, '0', '1023'),
                                   now, limit, w)
        end

        reply[len + 3] = total + units
        reply[len + 5] = units > 0 and time or p.newest

        if p.oldest_units then
            reply[len + 4] = total == 0 and units > 0 and time or p.oldest
            reply[len + 6] = not need and 0 or need > total and time or p.oldest
        else
            reply[len + 4], reply[len + 6]
                = helper().log_times(p, units, need, limit)
        end
        len = len + 6

        if not p.oldest_units then
            if units > 0 or p.rewrite then
                helper().write_log(p, units)
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
        local n, index = p.n, p.index
        local size = n + 1
        local current = index % size + 1

        p[current] = p[current] + units

        if units > 0 or p.rewrite then
            value = pack('<c1I4BI6', 's', w, n, index)
                    .. pack(p.format, _G.unpack(p, 1, size))
            ttl = floor(((index + size) * w + n - 1) / n) - time + 1000
        end

        reply[len + 3] = index
        for j = 1, size do
            reply[len + 3 + j] = p[j]
        end
        len = len + 3 + size

    else
        local index, prev, curr = p.index, p.prev, p.curr + units

        if units > 0 or p.rewrite then
            value = pack(PAIR, kind, w, index, prev, curr)
            ttl = (index + (kind == 'c' and 2 or 1)) * w - time + 1000
        end

        reply[len + 3], reply[len + 4], reply[len + 5] = index, prev, curr
        len = len + 5
    end

    if value and p.keep_ttl then
        call('SET', key, value, 'KEEPTTL')
    elseif value then
        local other = p.other or ''
        local advance = helpers and helpers.advance_state

        -- include part/write_value.lua
    end
end

-- include part/ban_begin.lua for take_ban

return pack('<' .. ('I7'):rep(len), _G.unpack(reply))
