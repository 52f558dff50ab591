-- Included by all scripts that read or write a log.
--
-- A log is a head and entries of 12 bytes, a time and a sum, in order: the sum
-- counts all units up to and with the entry, from the base on, which is the sum
-- of the entries that were removed. The head has a letter, the window, the time
-- at which the key's time to live was last set (renewed), and the base.
--
-- The first entries of a long log (L), as many as ring says, are a ring: the
-- oldest of them is behind as many as shift says, so that a new entry can
-- overwrite one that has left the window. The oldest has left in any case, and
-- no base is needed: the head has ring and shift instead. Of such a log the
-- beginning is read, and the entries that are needed; the new entry and the
-- head are written.
--
-- Entries are numbered by age, 1 is the oldest. The index of an entry is where
-- it is stored: in a ring, the two differ.

local HEAD, ENTRY, RING = '<c1I4I6I6', '<I6I6', 2 ^ 20

-- An entry begins at byte 12 * index + OFFSET, counted from 0 as Redis does,
-- its fields at 12 * index + TIME and + SUM, counted from 1 as Lua does. The
-- 1,024 bytes that are read first hold SHORT entries.

local OFFSET, TIME, SUM, SHORT = 5, 6, 12, 83

-- a field of entry i: TIME or SUM

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

-- the first entry of low..high whose field is not below a bound, or high; the
-- search begins at the lowest, where that entry mostly is

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

-- calls visit(index, n) for each run of n entries that are stored side by side

local function each_run(p, from, to, visit)
    while from <= to do
        local index, n = from, to - from + 1

        if from <= p.ring then
            index = (from - 1 + p.shift) % p.ring + 1
            n = math.min(n, p.ring - math.max(from, index) + 1)
        end
        visit(index, n)
        from = from + n
    end
end

local function entries(p, from, to)
    local parts = {}

    each_run(p, from, to, function(index, n)
        local first, last = 12 * index + TIME,
                            12 * (index + n) + OFFSET
        parts[#parts + 1] = last <= #p.text and p.text:sub(first, last)
            or redis.call('GETRANGE', p.key, first - 1, last - 1)
    end)
    return table.concat(parts)
end

-- what the head and the newest entry of a log tell, nil if the text, the first
-- 1,024 bytes of the value, is none of a log

local function parse_log(key, text)
    local size = #text

    -- Lua allocates the table once, with room for the fields that are set later

    local p = { key = key, text = text, count = 0, ring = 0, shift = 0,
                window = 0, renewed = 0, base = 0, newest = 0, last = 0,
                time = 0, kept = 0, first = 0, before = 0, total = 0,
                stored_base = 0, renew = false }

    if size == 1024 then
        size = redis.call('STRLEN', key)
    end
    if size < 17 or (size - 17) % 12 ~= 0 then
        return nil
    end

    local kind
    kind, p.window, p.renewed, p.base = struct.unpack(HEAD, text)
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

    p.last = p.base
    if p.count > 0 then
        local index = p.count
        if index == p.ring then
            index = (index - 1 + p.shift) % p.ring + 1
        end
        local offset, entry = 12 * index + TIME

        if offset + 11 <= #text then
            entry = text:sub(offset, offset + 11)
        elseif offset + 11 == size then
            entry = redis.call('GETRANGE', key, '-12', '-1')
        else
            entry = redis.call('GETRANGE', key, ('%d'):format(offset - 1),
                               ('%d'):format(offset + 10))
        end
        p.newest, p.last = struct.unpack(ENTRY, entry)
    end
    return p
end
