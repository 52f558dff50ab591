"""How the cost of a request grows with the clients and with the policies."""

import contextlib
import random

from load import CONNECTIONS, Crowd, address, measure, request
from servers import Nginx, Redis, cpu_seconds
from variants import PLENTY

CLIENTS = 1000, 1000000
COMMANDS = 50000
STORES = 'limit_req', 'local', 'redis'
POLICIES = 1, 2, 4, 8


def fill(port, path, clients):
    """Every client has been there once."""
    step = 100000
    with Crowd(port) as crowd:
        for start in range(0, clients, step):
            crowd.ask([request(path, address(i + 1))
                       for i in range(start, min(start + step, clients))],
                      depth=64)


def plain(redis, n):
    """Redis CPU, in microseconds, of a command without a script that finds the
    same keys and sets their time: what more of them cost Redis by itself."""
    commands = [('GETEX', f'sw:{{{address(random.randrange(n) + 1)}}}:redis',
                 'PX', 86400000) for _ in range(COMMANDS)]
    cpu = cpu_seconds(redis.pid)
    for start in range(0, COMMANDS, CONNECTIONS):
        redis.connection.pipeline(commands[start:start + CONNECTIONS])
    return (cpu_seconds(redis.pid) - cpu) / COMMANDS * 1e6


def used(redis):
    return int(redis.connection.info('memory')['used_memory'])


def clients(bench):
    """A zone and a Redis of its own for each number of clients; and the bytes
    of Redis that one of the million takes, all in."""
    rows = []
    work = bench.work / 'growth'

    with contextlib.ExitStack() as stack:
        places = []

        for n in CLIENTS:
            redis = stack.enter_context(Redis(work / f'redis-{n}'))
            nginx = stack.enter_context(Nginx(
                work / f'nginx-{n}', bench.nginx, [bench.module], f'''
    limit_req_zone $http_x_client zone=limit_req:160m rate={PLENTY}r/m;
    slidewin_redis {redis.url} timeout=1s;
    slidewin_zone $http_x_client zone=local:160m rate=1000000r/d store=local;
    slidewin_zone $http_x_client zone=redis:160m rate=1000000r/d;
''', '''
    location /limit_req { limit_req zone=limit_req burst=200000 nodelay;
                          empty_gif; }
    location /local { slidewin zone=local; empty_gif; }
    location /redis { slidewin zone=redis; empty_gif; }
'''))
            before = used(redis)
            for store in STORES:
                bench.say(f'filling {store} with {n:,} clients')
                fill(nginx.port, f'/{store}', n)
                places.append((n, store, nginx, redis))
            resident = (used(redis) - before) / n

        for turn in range(bench.rounds):
            bench.say(f'clients, round {turn + 1} of {bench.rounds}')
            for n, store, nginx, redis in places:
                rows.append({'clients': n, 'store': store, 'round': turn,
                             **measure(nginx, redis, f'/{store}',
                                       f'uniform:{n}', bench.seconds)})
                if store == 'redis':
                    rows.append({'clients': n, 'store': 'plain', 'round': turn,
                                 'redis_cpu': plain(redis, n)})

    return rows, resident


def crowd_calls(crowd, redis, path):
    """Redis calls of a request, exactly: nothing is on its way at the end, as
    it is when wrk stops."""
    batch = [request(path, address(i)) for i in range(10 * CONNECTIONS)]
    crowd.ask(batch)
    before, _ = redis.connection.script_calls()
    crowd.ask(batch)
    after, _ = redis.connection.script_calls()
    return (after - before) / len(batch)


def policies(bench, redis):
    rows = []
    zones = ''.join(f'slidewin_zone $http_x_client zone=p{i}:32m'
                    f' rate={1000000 + i}r/m;\n' for i in range(max(POLICIES)))
    locations = ''.join(
        f'location /{n} {{'
        + ''.join(f' slidewin zone=p{i};' for i in range(n))
        + ' empty_gif; }\n' for n in POLICIES)

    with Nginx(bench.work / 'policies', bench.nginx, [bench.module],
               f'slidewin_redis {redis.url} timeout=1s;\n{zones}',
               locations) as nginx, Crowd(nginx.port) as crowd:
        for turn in range(bench.rounds):
            bench.say(f'policies, round {turn + 1} of {bench.rounds}')
            for n in POLICIES:
                calls = crowd_calls(crowd, redis, f'/{n}')
                rows.append({'policies': n, 'round': turn, 'calls': calls,
                             **measure(nginx, redis, f'/{n}',
                                       bench.clients['zipf'], bench.seconds)})

    return rows
