-- Not a script: what takes put in the place of "-- log_take.lua".
--
-- The log of a key brought to the time, nil if the key holds another value:
-- first is the first entry of the window, before the sum of those before it.

local function look_log(key, text, now, limit, w)
    local p = #text > 0 and opened(key, text)

    if #text > 0 and (not p or p.newest - now > w) then
        local units, moved = carried(key, redis.call('GET', key), now, limit,
                                     p and w)
        if not units then
            return nil
        end
        p = { text = struct.pack(HEAD .. 'I6I6', 'l', w, now, 0, now, units),
              count = 1, last = units, newest = now, moved = moved,
              fresh = true }

    elseif not p or p.count == 0 then
        p = { text = '', count = 0, last = 0, newest = 0, fresh = true }
    end

    if p.fresh then
        p.key, p.window, p.since, p.base, p.cut, p.turn = key, w, now, 0, 0, 0
    end

    local time, first, before = math.max(now, p.newest), 1, p.base

    p.renew = p.fresh or p.window ~= w or time >= p.since + w / 2

    if p.cut > 0 or p.count > 0 and at(p, 1, TIME) <= time - w then
        first = search(p, TIME, time - w + 1, 2, p.count + 1)
        before = at(p, first - 1, SUM)
    end

    p.time, p.window, p.first, p.before = time, w, first, before
    p.total = p.last - before

    if p.total == 0 then
        p.count, p.base, p.last, p.before, p.newest = 0, 0, 0, 0, 0
        p.first, p.cut, p.turn, p.renew = 1, 0, 0, true
    end

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
    local live = p.count - p.first + 1

    if p.count < SHORT and not p.renew then
        redis.call('APPEND', p.key, added)
        return
    end
    if p.renew then
        p.since = p.time
    end

    -- what is short is written as a whole

    if live <= SHORT / 2 or p.count < SHORT or 16 * live <= p.count
        or p.count >= CUT - 1 or p.before >= 2 ^ 47
    then
        local all, base = entries(p, p.first, p.count) .. added, p.before

        if base >= 2 ^ 47 then
            -- rebased.lua

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

    -- What is turned has left: all are in the order of their places. The last
    -- of it is to have the sum before that which is behind it.

    local ring, turned = p.cut > 0 and p.cut or p.count

    if ring < p.count and p.first > ring then
        if p.turn > 0 then
            redis.call('SETRANGE', p.key, 12 * ring + PLACE + 6,
                       struct.pack('<I6', at(p, ring, SUM)))
        end
        ring, p.turn = p.count, 0
    end

    if ring == p.count and p.first > 2 then
        redis.call('SETRANGE', p.key, 12 * (p.turn + 1) + PLACE, added)
        p.cut, p.turn, turned = ring, (p.turn + 1) % ring, true
    else
        redis.call('APPEND', p.key, added)
    end

    if turned or p.renew then
        redis.call('SETRANGE', p.key, 0, p.cut > 0
            and struct.pack(HEAD, 'L', p.window, p.since, p.cut * CUT + p.turn)
            or struct.pack(HEAD, 'l', p.window, p.since, p.base))
    end
    if p.renew then
        redis.call('PEXPIRE', p.key, 2 * p.window)
    end
end
