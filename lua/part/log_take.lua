-- Included by the takes, after log.lua and carried.lua.
--
-- The log of a key brought to the time, nil if the key holds another value:
-- kept is the first entry that the log is kept for, and base the sum before it;
-- first is the first of the window, and before the sum before that.

local function look_log(key, text, now, limit, w)
    local p = #text > 0 and opened(key, text)
    local first, v = 1, w

    if #text > 0 and (not p or p.newest - now > w) then
        if p and p.window > w then
            v, limit = p.window, 2 ^ 32 - 1
        end

        local units, rewrite = carried(key, redis.call('GET', key), now, limit)
        if not units then
            return nil
        end
        rewrite = rewrite or p ~= nil
        p = { text = struct.pack(HEAD .. 'I6I6', 'l', v, now, 0, now, units),
              count = 1, last = units, newest = now, window = v,
              rewrite = rewrite, renew = true }

    elseif not p or p.count == 0 then
        p = { text = '', count = 0, last = 0, newest = 0, window = w,
              renew = true }
    end

    if p.renew then
        p.key, p.since, p.base, p.ring, p.shift = key, now, 0, 0, 0
    end

    -- of the whole log, which may have to be written again
    p.first_base = p.base

    -- what had left when the newest came is not taken up by a longer window

    v = p.window

    local time = math.max(now, p.newest)
    local since = time - math.max(v, w) + 1

    if w > v then
        since = math.max(since, p.newest - v + 1)
    end
    if p.ring > 0 or p.count > 0 and at(p, 1, TIME) < since then
        first = search(p, TIME, since, 2, p.count + 1)
        p.base = at(p, first - 1, SUM)
    end

    p.time, p.kept, p.first, p.before = time, first, first, p.base

    if w < v and p.last > p.base and at(p, first, TIME) <= time - w then
        p.first = search(p, TIME, time - w + 1, first + 1, p.count + 1)
        p.before = at(p, p.first - 1, SUM)
    end

    p.total = p.last - p.before

    -- It is kept for the longest window that was asked for since it was last
    -- empty, and its key lives for two of them, from time to time renewed.

    if p.last == p.base then
        p.count, p.base, p.last, p.before, p.newest = 0, 0, 0, 0, 0
        p.first, p.kept, p.ring, p.shift = 1, 1, 0, 0
        p.window, p.renew = w, true
    elseif w > v or 2 * (time - p.since) >= v then
        p.window, p.renew = math.max(v, w), true
        -- what a longer window refuses has to be there for as long
        if w > v and p.rewrite == nil then
            p.rewrite = false
        end
    end

    p.crowded = w < v and p.first - p.kept > math.max(limit, SHORT)

    return p
end

-- when the oldest entry was, and the one that has to leave for a cost, 0 for
-- none; units are counted meanwhile

local function log_times(p, units, need)
    local oldest, fits = p.total > 0 and at(p, p.first, TIME) or 0, 0

    if need and need > p.last - p.before then
        fits = p.time
    elseif need then
        fits = at(p, search(p, SUM, p.before + need, p.first, p.count), TIME)
    end
    if units > 0 and oldest == 0 then
        oldest = p.time
    end
    return oldest, fits
end

local function write_log(p, units)
    local added = units > 0 and struct.pack(ENTRY, p.time, p.last + units) or ''
    local live = p.count - p.kept + 1

    if p.count < SHORT and not p.renew then
        redis.call('APPEND', p.key, added)
        return
    end
    if p.renew then
        p.since = p.time
    end

    -- What is short is written as a whole. If there are too many entries before
    -- a window that is shorter than the log's, those in the same sixteenth of
    -- the longer leave their units to the last of them.

    if live <= SHORT / 2 or p.count < SHORT or 16 * live <= p.count
        or p.count >= RING - 1 or p.crowded or p.base >= 2 ^ 47
    then
        local all, base = entries(p, p.kept, p.count), p.base

        if p.crowded then
            local parts, from, part = {}, 12 * (p.first - p.kept)
            for i = 1, from, 12 do
                local time = struct.unpack('<I6', all, i)
                local its = math.floor(time * 16 / p.window)
                if its == part then
                    parts[#parts] = nil
                end
                parts[#parts + 1], part = all:sub(i, i + 11), its
            end
            all = table.concat(parts) .. all:sub(from + 1)
        end
        all = all .. added

        if base >= 2 ^ 47 then
            -- include part/rebased.lua

            all, base = rebased(all, base), 0
        end

        all = struct.pack(HEAD, 'l', p.window, p.since, base) .. all

        if p.renew then
            redis.call('SET', p.key, all, 'PX', 2 * p.window)
        else
            redis.call('SET', p.key, all, 'KEEPTTL')
        end
        return
    end

    -- If all of the ring has left, the others are in the order of their places.
    -- The last place of the ring is to have the sum before the entry behind it.

    local full, shifted = p.ring > 0 and p.ring or p.count

    if full < p.count and p.kept > full then
        if p.shift > 0 then
            redis.call('SETRANGE', p.key, 12 * full + PLACE + 6,
                       struct.pack('<I6', at(p, full, SUM)))
        end
        full, p.shift = p.count, 0
    end

    if full == p.count and p.kept > 2 then
        redis.call('SETRANGE', p.key,
                   ('%d'):format(12 * (p.shift + 1) + PLACE), added)
        p.ring, p.shift, shifted = full, (p.shift + 1) % full, true
    else
        redis.call('APPEND', p.key, added)
    end

    if shifted or p.renew then
        redis.call('SETRANGE', p.key, '0', p.ring > 0
            and struct.pack(HEAD, 'L', p.window, p.since,
                            p.ring * RING + p.shift)
            or struct.pack(HEAD, 'l', p.window, p.since, p.first_base))
    end
    if p.renew then
        redis.call('PEXPIRE', p.key, 2 * p.window)
    end
end
