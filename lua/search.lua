-- Not a script: what takes put in the place of "-- search.lua".
--
-- Of a long log only the head, the last entry and what a search looks at are
-- read: the number at an offset, from the head or from the key, and the first
-- entry of low..high whose number at the offset is not below a bound, or high.
-- More often than not it is the lowest. HEAD is the size of the head.

local function at(key, head, offset)
    if offset + 5 <= HEAD then
        return struct.unpack('<I6', head, offset)
    end
    return struct.unpack('<I6', redis.call('GETRANGE', key, offset - 1,
                                           offset + 4))
end

local function search(key, head, offset, bound, low, high)
    if low < high and at(key, head, 12 * low + offset) >= bound then
        return low
    end
    while low < high do
        local mid = math.floor((low + high) / 2)
        if at(key, head, 12 * mid + offset) >= bound then
            high = mid
        else
            low = mid + 1
        end
    end
    return low
end
