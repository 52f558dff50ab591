-- wrk -s load.lua URL -- CLIENTS: the clients of the requests, in X-Client.
--
--   one         always the same
--   uniform:N   N of them, all alike
--   /a/path     those of a file, a line each, in their order, again and again
--
-- At the end a line of JSON.

local function address(i)
    return string.format('10.%d.%d.%d', math.floor(i / 65536),
                         math.floor(i / 256) % 256, i % 256)
end

function init(args)
    local clients = args[1]
    local n = tonumber(clients:match('^uniform:(%d+)$'))

    wrk.headers['X-Client'] = address(1)
    local head, tail = wrk.format():match('^(.*X%-Client: )[%d.]+(.*)$')

    if n then
        math.randomseed(os.time())
        request = function()
            return head .. address(math.random(n)) .. tail
        end

    elseif clients ~= 'one' then
        local requests, i = {}, 0

        for client in io.lines(clients) do
            requests[#requests + 1] = head .. client .. tail
        end
        request = function()
            i = i % #requests + 1
            return requests[i]
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
