-- Included by all scripts that have to do with a log.
--
-- A log is a head and entries of 12 bytes, a time and a sum, in order: the sum
-- counts all units up to and with the entry, from the base on, which is that of
-- what is no longer there. The head has a letter, the window, the time since
-- which the key has its end, and the base.
--
-- The first entries of a long log (L), as many as ring says, are a ring: the
-- oldest of them is behind as many as shift says, so that a new one can take
-- the place of one that has left. The oldest has left in any case, and no base
-- is needed: the head has ring and shift instead. Only the beginning of such a
-- log is read, and the places that are looked at; what is written is the new
-- entry and the head.

local HEAD, ENTRY, RING = '<c1I4I6I6', '<I6I6', 2 ^ 20

-- 12 times its place and this is where an entry begins, counted from 0, and
-- where its numbers do, counted from 1; so many entries are read at once

local PLACE, TIME, SUM, SHORT = 5, 6, 12, 83

local function at(p, i, field)
    if i <= p.ring then
        i = (i - 1 + p.shift) % p.ring + 1
    end

    local offset = 12 * i + field

    if offset + 5 <= #p.text then
        return struct.unpack('<I6', p.text, offset)
    end
    return struct.unpack('<I6', redis.call('GETRANGE', p.key,
                                           ('%d'):format(offset - 1),
                                           ('%d'):format(offset + 4)))
end

-- the first of low..high whose field is not below a bound, or high; it is more
-- often than not one of the lowest

local function search(p, field, bound, low, high)
    local step, top = 0, low

    while top < high and at(p, top, field) < bound do
        low, step = top + 1, 8 * step + 1
        top = math.min(top + step, high)
    end
    high = top

    while low < high do
        local middle = math.floor((low + high) / 2)
        if at(p, middle, field) < bound then
            low = middle + 1
        else
            high = middle
        end
    end
    return low
end

-- the pieces that entries are in: what does it with each, by its first place
-- and how many there are

local function pieces(p, from, to, what)
    while from <= to do
        local place, n = from, to - from + 1

        if from <= p.ring then
            place = (from - 1 + p.shift) % p.ring + 1
            n = math.min(n, p.ring - math.max(from, place) + 1)
        end
        what(place, n)
        from = from + n
    end
end

local function entries(p, from, to)
    local parts = {}

    pieces(p, from, to, function(place, n)
        local first, last = 12 * place + TIME,
                            12 * (place + n) + PLACE
        parts[#parts + 1] = last <= #p.text and p.text:sub(first, last)
            or redis.call('GETRANGE', p.key, first - 1, last - 1)
    end)
    return table.concat(parts)
end

-- nil if the text is none of a log

local function opened(key, text)
    local size = #text

    -- room for the fields that are added later, too

    local p = { key = key, text = text, count = 0, ring = 0, shift = 0,
                window = 0, since = 0, base = 0, newest = 0, last = 0,
                time = 0, kept = 0, first = 0, before = 0, total = 0,
                first_base = 0, renew = false }

    if size == 1024 then
        size = redis.call('STRLEN', key)
    end
    if size < 17 or (size - 17) % 12 ~= 0 then
        return nil
    end

    local kind
    kind, p.window, p.since, p.base = struct.unpack(HEAD, text)
    p.count = (size - 17) / 12

    if kind == 'L' then
        p.shift = p.base % RING
        p.ring = (p.base - p.shift) / RING
        if p.ring < 1 or p.ring > p.count or p.shift >= p.ring then
            return nil
        end
    elseif kind ~= 'l' then
        return nil
    end
    if p.window == 0 then
        return nil
    end

    p.newest, p.last = 0, p.base
    if p.count > 0 then
        local place, entry = p.count
        if place == p.ring then
            place = (place - 1 + p.shift) % p.ring + 1
        end
        place = 12 * place + TIME

        if place + 11 <= #text then
            entry = text:sub(place, place + 11)
        elseif place + 11 == size then
            entry = redis.call('GETRANGE', key, '-12', '-1')
        else
            entry = redis.call('GETRANGE', key, ('%d'):format(place - 1),
                               ('%d'):format(place + 10))
        end
        p.newest, p.last = struct.unpack(ENTRY, entry)
    end
    return p
end
