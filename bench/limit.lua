-- The limiter that a user of nginx and Lua would write: one EVALSHA a request,
-- by a connection from a pool.

local redis = require 'nginx.redis'

-- KEYS: the current window and the previous one; ARGV: limit, window and the
-- time gone in the current one, both in ms
local SCRIPT = [[
local counts = redis.call('MGET', KEYS[1], KEYS[2])
local limit, window, gone = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local current, previous = tonumber(counts[1] or 0), tonumber(counts[2] or 0)
if previous * (window - gone) + (current + 1) * window > limit * window then
    return -1
end
if redis.call('INCR', KEYS[1]) == 1 then
    redis.call('PEXPIRE', KEYS[1], 2 * window)
end
return limit - current - 1
]]

local sha

local function ask(client, ...)
    if sha then
        local answer, err = client:evalsha(sha, ...)
        if answer or not err:find('NOSCRIPT', 1, true) then
            return answer, err
        end
    end

    local err
    sha, err = client:script('load', SCRIPT)
    if not sha then
        return nil, err
    end

    return client:evalsha(sha, ...)
end

return function(port, name, limit, window)
    local client = redis:new()
    client:set_timeout(1000)

    local ok, err = client:connect('127.0.0.1', port)
    if not ok then
        ngx.log(ngx.CRIT, 'redis: ', err)
        return ngx.exit(500)
    end

    local now = ngx.now() * 1000
    local index = math.floor(now / window)
    local key = name .. ':{' .. ngx.var.http_x_client .. '}:'
    local left, err = ask(client, 2, key .. index, key .. index - 1,
                          limit, window, now - index * window)
    if not left then
        ngx.log(ngx.CRIT, 'redis: ', err)
        return ngx.exit(500)
    end

    client:set_keepalive(60000, 64)

    if left < 0 then
        return ngx.exit(429)
    end
end
