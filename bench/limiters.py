"""The limiters side by side, under as much traffic as wrk makes."""

import contextlib

import variants
from load import Crowd, measure, request
from servers import Haproxy, Nginx


def start(bench, redis, stack):
    haproxy = bench.peers / 'haproxy/usr/sbin/haproxy'

    def ours(**parameters):
        return (Nginx, bench.nginx, [bench.module],
                *variants.slidewin(**parameters))

    servers = {
        'none': (Nginx, bench.nginx, [], '', variants.NO_LIMITER),
        'limit_req': (Nginx, bench.nginx, [], *variants.LIMIT_REQ),
        'local': ours(),
        'redis': ours(redis=redis.url),
        'uncached': ours(redis=redis.url, reject='deny_cache=off'),
        'lease': ours(redis=redis.url, admit='lease=10%'),
        'debian': (Nginx, bench.debian, [], '', variants.NO_LIMITER),
        'lua': (Nginx, bench.debian,
                [bench.peers / module for module in variants.LUA_MODULES],
                *variants.lua(bench.peers, redis)),
        'haproxy': (Haproxy, haproxy, variants.STICKLESS),
        'stick': (Haproxy, haproxy, *variants.STICK_TABLES),
    }
    return {name: stack.enter_context(
                kind(bench.work / 'limiters' / name, *arguments))
            for name, (kind, *arguments) in servers.items()
            if bench.measures(name)}


def exhaust(port, clients):
    """All clients have been there once, and not more than a minute ago, which
    is how long limit_req can remember."""
    if clients != 'one':
        each = sorted(set(clients.read_text().split()))
        with Crowd(port) as crowd:
            crowd.ask([request('/reject', client) for client in each],
                      depth=64)


def check(variant, scenario, server, result):
    """A figure of a limiter that does something else is worth nothing."""
    name = f'{variant.name}, {scenario.title}'
    refused, asked = result['refused'], result['redis_calls'] > 0

    if refused > 0 if scenario.path == '/admit' else refused < 0.99:
        raise SystemExit(f'{name}: {refused:.1%} were refused')
    if asked != variant.redis:
        raise SystemExit(f'{name}: {result["redis_calls"]} Redis calls')
    if server.said():
        raise SystemExit(f'{name}: {server.said()}')


def run(bench, redis):
    rows = []

    with contextlib.ExitStack() as stack:
        servers = start(bench, redis, stack)
        shown = [v for v in variants.VARIANTS if v.name in servers]

        for turn in range(bench.rounds):
            bench.say(f'limiters, round {turn + 1} of {bench.rounds}')
            # nobody always comes after the same one
            order = shown[turn % len(shown):] + shown[:turn % len(shown)]

            for scenario in variants.SCENARIOS:
                for variant in order:
                    if scenario.path not in variant.paths:
                        continue
                    server = servers[variant.name]
                    clients = bench.clients[scenario.clients]
                    if scenario.path == '/reject':
                        exhaust(server.port, clients)
                    result = measure(server, redis, scenario.path, clients,
                                     bench.seconds)
                    check(variant, scenario, server, result)
                    rows.append({'scenario': scenario.name,
                                 'variant': variant.name, 'round': turn,
                                 **result})

    return rows
