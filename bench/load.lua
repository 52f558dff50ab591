-- wrk -s load.lua URL -- CLIENTS: who the requests come from, by X-Client.
--
--   one         always the same
--   zipf:N      N clients, the i-th as often as 1/i; the same order each time
--   uniform:N   N clients, all alike
--
-- At the end a line of JSON.

local function address(i)
    return string.format('10.%d.%d.%d', math.floor(i / 65536),
                         math.floor(i / 256) % 256, i % 256)
end

local function zipf(n)
    local sums, sum = {}, 0

    for i = 1, n do
        sum = sum + 1 / i
        sums[i] = sum
    end

    return function()
        local x, low, high = math.random() * sum, 1, n

        while low < high do
            local middle = math.floor((low + high) / 2)
            if sums[middle] < x then
                low = middle + 1
            else
                high = middle
            end
        end

        return low
    end
end

function init(args)
    local kind, n = args[1]:match('^(%a+):?(%d*)$')

    wrk.headers['X-Client'] = address(1)

    if kind == 'zipf' then
        local draw, requests, i = zipf(tonumber(n)), {}, 0

        math.randomseed(1)
        for k = 1, 131072 do
            wrk.headers['X-Client'] = address(draw())
            requests[k] = wrk.format()
        end

        request = function()
            i = i % #requests + 1
            return requests[i]
        end

    elseif kind == 'uniform' then
        local head, tail = wrk.format():match('^(.*X%-Client: )[%d.]+(.*)$')

        math.randomseed(os.time())
        request = function()
            return head .. address(math.random(tonumber(n))) .. tail
        end
    end
end

function done(summary, latency)
    local e = summary.errors

    print(string.format(
        '{"requests": %d, "seconds": %f, "p50": %f, "p99": %f,'
        .. ' "refused": %d, "failed": %d}',
        summary.requests, summary.duration / 1e6,
        latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
        e.status, e.connect + e.read + e.write + e.timeout))
end
