-- Included by the takes: writes a value, which is the state of this window, and
-- behind it other, the state of another window, which counts the same units.
-- The key lives until both count nothing, and a second more for a machine whose
-- clock is behind this one, but no longer than two windows.

ttl = math.min(ttl, 2 * w)
if other ~= '' then
    -- include part/state_ttl.lua

    if units > 0 then
        other = advance(key, other, now, 2 ^ 53, units)
    end
    ttl = math.max(ttl, state_ttl(other, now))
end
redis.call('SET', key, value .. other, 'PX', ttl)
