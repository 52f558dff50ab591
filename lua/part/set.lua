-- Included by the takes: writes a value and the one of another window behind
-- it, which counts the same units. The key lives until both count nothing, and
-- a second more for an edge that is behind this clock, but no longer than two
-- windows.

ttl = math.min(ttl, 2 * w)
if other ~= '' then
    -- include part/ends.lua

    if units > 0 then
        other = advance(key, other, now, 2 ^ 53, units)
    end
    ttl = math.max(ttl, ends(other, now))
end
redis.call('SET', key, value .. other, 'PX', ttl)
