"""The limiters side by side, under as much traffic as wrk makes."""

import concurrent.futures
import contextlib
import time

import variants
from load import Crowd, measure, request, wrk
from servers import Haproxy, Nginx, Redis


def start(bench, variant, stack):
    """The server of a variant and a Redis of its own: a worker may ask it at
    any time, also while another one is measured."""
    work = bench.work / 'limiters' / variant.name
    redis = stack.enter_context(Redis(work / 'redis'))
    haproxy = bench.peers / 'haproxy/usr/sbin/haproxy'
    lua = [bench.peers / module for module in variants.LUA_MODULES]

    def ours(**parameters):
        return (Nginx, bench.nginx, [bench.module],
                *variants.slidewin(**parameters))

    kind, *arguments = {
        'none': (Nginx, bench.nginx, [], '', variants.NO_LIMITER),
        'limit_req': (Nginx, bench.nginx, [], *variants.LIMIT_REQ),
        'local': ours(),
        'redis': ours(redis=redis.url),
        'uncached': ours(redis=redis.url, reject='deny_cache=off'),
        'lease': ours(redis=redis.url, admit='lease=10%'),
        'debian': (Nginx, bench.debian, [], '', variants.NO_LIMITER),
        'lua': (Nginx, bench.debian, lua, *variants.lua(bench.peers, redis)),
        'haproxy': (Haproxy, haproxy, variants.STICKLESS),
        'stick': (Haproxy, haproxy, *variants.STICK_TABLES),
    }[variant.name]

    return stack.enter_context(kind(work / 'server', *arguments)), redis


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
    refused = result['refused']

    if refused > 0 if scenario.path == '/admit' else refused < 0.99:
        raise SystemExit(f'{name}: {refused:.1%} were refused')
    if variant.redis and not result['redis_calls']:
        raise SystemExit(f'{name}: Redis was not asked')
    if server.said():
        raise SystemExit(f'{name}: {server.said()}')


def run(bench):
    rows = []

    with contextlib.ExitStack() as stack:
        started = {v.name: start(bench, v, stack) for v in variants.VARIANTS}

        for turn in range(bench.rounds):
            bench.say(f'limiters, round {turn + 1} of {bench.rounds}')
            # rotated: no variant always follows the same one
            shift = turn % len(variants.VARIANTS)
            order = variants.VARIANTS[shift:] + variants.VARIANTS[:shift]

            for scenario in variants.SCENARIOS:
                for variant in order:
                    if scenario.path in variant.paths:
                        rows.append({
                            'scenario': scenario.name,
                            'variant': variant.name, 'round': turn,
                            **once(bench, scenario, variant,
                                   *started[variant.name])})

        bench.say('deny cache')
        return rows, denied(*started['redis'])


def denied(server, redis):
    """Redis calls a second for a client that keeps trying: from one call to
    another, because a refusal is remembered for a second."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        flood = pool.submit(wrk, server.port, '/reject', 'one', 8)
        before, began = next_call(redis, flood)
        time.sleep(4.5)
        after, ended = next_call(redis, flood)
        flood.result()
    return (after - before) / (ended - began)


def next_call(redis, flood):
    """How many there have been, and when."""
    before, _ = redis.connection.script_calls()
    calls = before
    while calls == before and flood.running():
        time.sleep(0.005)
        calls, _ = redis.connection.script_calls()
    return calls, time.monotonic()


def once(bench, scenario, variant, server, redis):
    clients = bench.clients[scenario.clients]
    if scenario.path == '/reject':
        exhaust(server.port, clients)
    result = measure(server, redis, scenario.path, clients, bench.seconds)
    check(variant, scenario, server, result)
    return result
