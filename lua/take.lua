-- take: checks all policies of a request and counts all of them or none.
--
-- KEYS[i]   the client of policy i; all of one slot
-- ARGV[1]   number of the call, echoed: a reply that is not ours is found out
-- ARGV[2]   the time in ms, 0 for this server's own
-- ARGV[..]  of each policy: algorithm (c counter, f fixed, s strict, l log),
--           limit, window in ms, slices (0 but for strict), cost (0 peeks),
--           dry run (1 or 0)
--
-- reply     { number, time, and of each policy:
--             admitted (1 or 0), counted (1 or 0), then what is left behind:
--             c, f: index, previous, current
--             s:    index, units of slices + 1 slots
--             l:    total, oldest, newest, and the entry whose leaving makes
--                   room for the cost, times in ms, 0 for none }
--
-- A refused policy that is not in dry run leaves all uncounted; a refused one
-- in dry run leaves those in dry run uncounted. Nothing is written before all
-- is decided: an error leaves no trace. What is not counted is not written, but
-- for a state that a clock set back has left in the future, and one of another
-- window or algorithm that refuses.
--
-- A value begins with the letter of its algorithm and its window:
--   c, f  window, index, previous, current
--   s     window, slices, index, units of slices + 1 slots
--   l     window, time of the last rewrite, base, then entries: time, sum;
--         the sum counts all units from the base up to and with the entry
-- The arithmetic is that of sw_window.c, in doubles that stay below 2^53 and so
-- are exact.

local PAIR, SLICES, LOG, ENTRY = '<c1I4I6I7I7', '<c1I4BI6', '<c1I4I6I6', '<I6I6'
local floor, max, min = math.floor, math.max, math.min
local pack, unpack = struct.pack, struct.unpack

local HEAD = 1024

-- carried.lua
-- search.lua

local now = tonumber(ARGV[2])

if now == 0 then
    local t = redis.call('TIME')
    now = t[1] * 1000 + floor(t[2] / 1000)
end

local function foreign()
    return redis.error_reply('SLIDEWIN a key holds another value')
end

local plans, enforced, rehearsed = {}, true, true

for i = 1, #KEYS do
    local a = 6 * i - 3
    local kind, limit, w = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
    local key, cost = KEYS[i], tonumber(ARGV[a + 4])
    local admitted, ahead, p

    if kind == 'l' then
        -- entries below first left the window, before is the sum of them
        local time, count, first, before, total, newest = now, 0, 1, 0, 0, 0
        local text = redis.call('GETRANGE', key, '0', '1023')
        local rewrite, size = true, #text

        if size > 0 then
            local k, v, since, base
            if size == HEAD then
                size = redis.call('STRLEN', key)
            end
            if size >= 17 and (size - 17) % 12 == 0 then
                k, v, since, base = unpack(LOG, text)
                count = (size - 17) / 12
                if count > 0 then
                    newest = at(key, text, 12 * count + 6)
                    total = at(key, text, 12 * count + 12)
                end
            end

            if k ~= 'l' or newest - now > w then
                total, ahead = carried(redis.call('GET', key), now, limit,
                                       k == 'l' and w or nil)
                if not total then
                    return foreign()
                end
                text = pack(LOG, 'l', w, now, 0) .. pack(ENTRY, now, total)
                size, count, newest = #text, 1, now

            elseif count > 0 then
                time, before = max(now, newest), base
                rewrite = v ~= w or time >= since + w / 2

                if unpack('<I6', text, 18) <= time - w then
                    first = search(key, text, 6, time - w + 1, 2, count + 1)
                    before = at(key, text, 12 * first)
                end
                total = total - before
            end
        end

        if total == 0 then
            before, newest, rewrite = 0, 0, true
        end

        admitted = total + cost <= limit
        p = { time = time, text = text, size = size, count = count,
              first = first, before = before, total = total, newest = newest,
              rewrite = rewrite }

    elseif kind == 's' then
        local n, text = tonumber(ARGV[a + 3]), redis.call('GET', key)
        local time, index, total, k, v, m, old = now, floor(now * n / w), 0
        p = { slices = n }

        for j = 0, n do
            p[j] = 0
        end

        if text then
            if #text == 19 + 7 * n then
                k, v, m, old = unpack(SLICES, text)
            end

            if k == 's' and v == w and m == n and index >= old - n then
                for j = max(max(index, old) - n, 0), old do
                    local units = unpack('<I7', text, 13 + 7 * (j % (n + 1)))
                    p[j % (n + 1)] = units
                    total = total + units
                end
                if index < old then
                    time, index = floor((old * w + n - 1) / n), old
                end
            else
                total, ahead = carried(text, now, limit)
                if not total then
                    return foreign()
                end
                p[index % (n + 1)] = total
            end
        end

        admitted = total + cost <= limit
        p.time, p.index = time, index

    else
        local time, index, prev, curr = now, floor(now / w), 0, 0
        local text, k, v, old, was, is = redis.call('GET', key)

        if text then
            if #text == 25 then
                k, v, old, was, is = unpack(PAIR, text)
            end

            if k ~= kind or v ~= w or index < old - 1 then
                curr, ahead = carried(text, now, limit)
                if not curr then
                    return foreign()
                end
            elseif index == old then
                prev, curr = was, is
            elseif index == old + 1 then
                prev = is
            elseif index < old then
                time, index, prev, curr = old * w, old, was, is
            end
        end

        if kind == 'c' then
            admitted = cost <= limit and prev * (w - time % w)
                                         + (curr + cost) * w <= limit * w
        else
            admitted = curr + cost <= limit
        end
        p = { time = time, index = index, prev = prev, curr = curr }
    end

    admitted = admitted or cost == 0
    if ahead == false then
        ahead = not admitted
    end
    p.admitted, p.ahead, p.dry = admitted, ahead, ARGV[a + 5] == '1'
    if not admitted then
        if p.dry then
            rehearsed = false
        else
            enforced = false
        end
    end
    plans[i] = p
end

local reply, n = { tonumber(ARGV[1]), now }, 2

for i = 1, #KEYS do
    local a, key, p = 6 * i - 3, KEYS[i], plans[i]
    local kind, w, cost = ARGV[a], tonumber(ARGV[a + 2]), tonumber(ARGV[a + 4])
    local counted = enforced and cost > 0 and (rehearsed or not p.dry)
    local time, value, ttl = p.time

    reply[n + 1], reply[n + 2] = p.admitted and 1 or 0, counted and 1 or 0

    if kind == 'l' then
        local text, total, newest = p.text, p.total, p.newest
        local oldest, fits = 0, 0

        if total > 0 then
            oldest = at(key, text, 12 * p.first + 6)
        end

        if counted or p.ahead then
            local added = counted and pack(ENTRY, time, p.before + total + cost)
                          or ''
            if p.rewrite then
                local before = p.before
                value = added
                if total > 0 then
                    value = (p.size <= HEAD and text:sub(12 * p.first + 6)
                             or redis.call('GETRANGE', key, 12 * p.first + 5,
                                           -1)) .. added
                end
                if before >= 2 ^ 47 then
                    -- rebased.lua

                    value, before = rebased(value, before), 0
                end
                value = pack(LOG, 'l', w, time, before) .. value
                ttl = 2 * w
            else
                redis.call('APPEND', key, added)
            end
        end

        if counted then
            oldest = total > 0 and oldest or time
            total, newest = total + cost, time

        elseif not p.admitted and cost <= tonumber(ARGV[a + 1]) then
            fits = search(key, text, 12, p.before + total + cost
                                         - tonumber(ARGV[a + 1]),
                          p.first, p.count)
            fits = at(key, text, 12 * fits + 6)
        end

        reply[n + 3], reply[n + 4] = total, oldest
        reply[n + 5], reply[n + 6] = newest, fits
        n = n + 6

    elseif kind == 's' then
        local slices, index = p.slices, p.index

        if counted then
            local slot = index % (slices + 1)
            p[slot] = p[slot] + cost
        end

        if counted or p.ahead then
            local units = {}
            for j = 0, slices do
                units[j + 1] = p[j]
            end
            value = pack(SLICES .. ('I7'):rep(slices + 1), 's', w, slices,
                         index, _G.unpack(units))
            ttl = floor(((index + slices + 1) * w + slices - 1) / slices)
                  - time + 1000
        end

        reply[n + 3] = index
        for j = 0, slices do
            reply[n + 4 + j] = p[j]
        end
        n = n + 4 + slices

    else
        local index, prev, curr = p.index, p.prev, p.curr

        curr = counted and curr + cost or curr

        if counted or p.ahead then
            value = pack(PAIR, kind, w, index, prev, curr)
            ttl = (index + (kind == 'c' and 2 or 1)) * w - time + 1000
        end

        reply[n + 3], reply[n + 4], reply[n + 5] = index, prev, curr
        n = n + 5
    end

    -- to live until it counts nothing, and a second more for an edge that is
    -- behind this clock, but no longer than two windows

    if value then
        redis.call('SET', key, value, 'PX', min(ttl, 2 * w))
    end
end

return reply
