"""What a client costs a store: bytes, and in Redis the time of a call."""

import re

from load import Crowd, measure, request
from servers import Nginx

ALGORITHMS = 'counter', 'fixed', 'strict', 'log'
CLIENT = '192.168.100.200'
ENTRIES = 1000


def redis_cost(bench, redis):
    """The time over a thousand clients that come in turn, the bytes of one
    that came a thousand times."""
    rows = []
    zones = ''.join(f'slidewin_zone $http_x_client zone={name}:8m'
                    f' rate=100000r/h algorithm={name};\n'
                    for name in ALGORITHMS)
    locations = ''.join(f'location /{name} {{ slidewin zone={name};'
                        ' empty_gif; }\n' for name in ALGORITHMS)

    with Nginx(bench.work / 'algorithms', bench.nginx, [bench.module],
               f'slidewin_redis {redis.url} timeout=1s;\n{zones}',
               locations) as nginx:
        with Crowd(nginx.port, 1) as one:
            for name in ALGORITHMS:
                one.ask([request(f'/{name}', CLIENT)] * ENTRIES)
                key = f'sw:{{{CLIENT}}}:{name}'
                rows.append({'algorithm': name, 'bytes':
                             redis.connection.command(
                                 'MEMORY', 'USAGE', key, 'SAMPLES', 0)})

        for turn in range(bench.rounds):
            bench.say(f'algorithms, round {turn + 1} of {bench.rounds}')
            for row in rows:
                result = measure(nginx, redis, f'/{row["algorithm"]}',
                                 'uniform:1000', bench.seconds)
                row.setdefault('usec', []).append(result['redis_usec'])

    return rows


def shared(bench):
    """Bytes of a client of a counter in shared memory, all in: the zone over
    the number of clients that it had before it was full."""
    size = 1 << 20

    with Nginx(bench.work / 'zone', bench.nginx, [bench.module],
               f'slidewin_zone $arg_k zone=full:{size} rate=100r/d;',
               'location / { slidewin zone=full; empty_gif; }',
               level='notice') as nginx:
        with Crowd(nginx.port, 1) as one:
            one.ask([request(f'/?k={i}', i) for i in range(size // 64)],
                    depth=64)
        first = re.search(r'is full.*\?k=(\d+)', nginx.said())

    return size / int(first[1])
