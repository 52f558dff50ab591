-- Included by the takes, after log.lua and carried.lua.
--
-- The log of a key brought to the time, nil if the key holds another value:
-- kept is the first entry that the log still needs, and base the sum before it;
-- first is the first entry of the window, and before the sum before that. text
-- is the first 1,024 bytes of the value. For a charge there is no room in a value
-- of another algorithm that counts anything, which stays as it is.

local function load_log(key, text, now, limit, w)
    local p = #text > 0 and parse_log(key, text)
    local first, log_w = 1, w

    if #text > 0 and (not p or p.newest - now > w) then
        if p and p.window > w then
            log_w, limit = p.window, 2 ^ 32 - 1
        end

        local units, future = carried(key, redis.call('GET', key), now, limit)
        if not units then
            return nil
        end
        local rewrite = future or p ~= nil

        if is_charge and not p and units > 0 then
            units, rewrite = limit, nil
        end
        p = { text = struct.pack(HEAD .. 'I6I6', 'l', log_w, now, 0, now,
                                 units),
              count = 1, last = units, newest = now, window = log_w,
              rewrite = rewrite, renew = true }

    elseif not p or p.count == 0 then
        p = { text = '', count = 0, last = 0, newest = 0, window = w,
              renew = true }
    end

    if p.renew then
        p.key, p.renewed, p.base, p.ring, p.shift = key, now, 0, 0, 0
    end

    -- the base in the head, which may have to be written again
    p.stored_base = p.base

    -- a longer window does not count entries that had left when the newest came

    log_w = p.window

    local time = math.max(now, p.newest)
    local keep_from = time - math.max(log_w, w) + 1

    if w > log_w then
        keep_from = math.max(keep_from, p.newest - log_w + 1)
    end
    if p.ring > 0 or p.count > 0 and at(p, 1, TIME) < keep_from then
        first = search(p, TIME, keep_from, 2, p.count + 1)
        p.base = at(p, first - 1, SUM)
    end

    p.time, p.kept, p.first, p.before = time, first, first, p.base

    if w < log_w and p.last > p.base and at(p, first, TIME) <= time - w then
        p.first = search(p, TIME, time - w + 1, first + 1, p.count + 1)
        p.before = at(p, p.first - 1, SUM)
    end

    p.total = p.last - p.before

    -- A log is kept for the longest window that was asked for since the log was
    -- last empty. Its key lives for two of these, and is renewed after half of
    -- one.

    if p.last == p.base then
        p.count, p.base, p.last, p.before, p.newest = 0, 0, 0, 0, 0
        p.first, p.kept, p.ring, p.shift = 1, 1, 0, 0
        p.window, p.renew = w, true
    elseif w > log_w or 2 * (time - p.renewed) >= log_w then
        p.window, p.renew = math.max(log_w, w), true
        -- entries for which a longer window rejects have to live for as long
        if w > log_w and p.rewrite == nil then
            p.rewrite = false
        end
    end

    p.merge = w < log_w and p.first - p.kept > math.max(limit, SHORT)

    return p
end

-- The times of the entry whose leaving makes more room than there is, which is
-- the oldest unless the log holds more than its limit, and of the entry whose
-- leaving makes room for need units, 0 for none, after units are counted.

local function log_times(p, units, need, limit)
    local oldest, fits = p.total > 0 and at(p, p.first, TIME) or 0, 0

    if p.total > limit then
        oldest = at(p, search(p, SUM, p.before + p.total - limit + 1, p.first,
                              p.count), TIME)
    end
    if need and need > p.total then
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
        p.renewed = p.time
    end

    -- A short log is written as a whole. If there are too many entries before a
    -- window that is shorter than the log's, entries in the same sixteenth of
    -- the longer one are merged: the last of them has the units of all.

    if live <= SHORT / 2 or p.count < SHORT or 16 * live <= p.count
        or p.count >= RING - 1 or p.merge or p.base >= 2 ^ 47
    then
        local all, base = entries(p, p.kept, p.count), p.base

        if p.merge then
            local merged, size, last = {}, 12 * (p.first - p.kept)
            for i = 1, size, 12 do
                local time = struct.unpack('<I6', all, i)
                local sixteenth = math.floor(time * 16 / p.window)
                if sixteenth == last then
                    merged[#merged] = nil
                end
                merged[#merged + 1], last = all:sub(i, i + 11), sixteenth
            end
            all = table.concat(merged) .. all:sub(size + 1)
        end
        all = all .. added

        if base >= 2 ^ 47 then
            -- include part/log_rebase.lua

            all, base = rebase(all, base), 0
        end

        all = struct.pack(HEAD, 'l', p.window, p.renewed, base) .. all

        if p.renew then
            redis.call('SET', p.key, all, 'PX', 2 * p.window)
        else
            redis.call('SET', p.key, all, 'KEEPTTL')
        end
        return
    end

    -- If all entries of the ring have left, the ring is made of the whole log,
    -- as the others are stored in their order. The index before them, the last
    -- of the old ring, has to have the sum before them.

    local ring, shifted = p.ring > 0 and p.ring or p.count

    if ring < p.count and p.kept > ring then
        if p.shift > 0 then
            redis.call('SETRANGE', p.key, 12 * ring + OFFSET + 6,
                       struct.pack('<I6', at(p, ring, SUM)))
        end
        ring, p.shift = p.count, 0
    end

    if ring == p.count and p.kept > 2 then
        redis.call('SETRANGE', p.key,
                   ('%d'):format(12 * (p.shift + 1) + OFFSET), added)
        p.ring, p.shift, shifted = ring, (p.shift + 1) % ring, true
    else
        redis.call('APPEND', p.key, added)
    end

    if shifted or p.renew then
        redis.call('SETRANGE', p.key, '0', p.ring > 0
            and struct.pack(HEAD, 'L', p.window, p.renewed,
                            p.ring * RING + p.shift)
            or struct.pack(HEAD, 'l', p.window, p.renewed, p.stored_base))
    end
    if p.renew then
        redis.call('PEXPIRE', p.key, 2 * p.window)
    end
end
