"""What the module is to reach, and whether it did."""

import dataclasses

from stats import median, ratios, values


@dataclasses.dataclass
class Target:
    text: str
    figures: list           # one of each round
    bound: float
    at_least: bool = False

    @property
    def figure(self):
        return median(self.figures)

    @property
    def digits(self):
        return 2 if self.bound >= 1 else 3

    @property
    def verdict(self):
        if self.figure is None:
            return 'not measured'
        reached = (self.figure >= self.bound if self.at_least
                   else self.figure <= self.bound)
        return 'reached' if reached else 'missed'


def targets(results):
    def beside(key, scenario, variant, other='none'):
        return ratios(results['limiters'], key,
                      {'scenario': scenario, 'variant': variant},
                      {'scenario': scenario, 'variant': other})

    def load(key, scenario, variant):
        return values(results['limiters'], key, scenario=scenario,
                      variant=variant)

    def handler(case, other):
        return ratios(results['instructions'], 'handler', {'case': case},
                      {'case': other})

    def statistics():
        figures = [row['statistics'] for row in results['instructions']
                   if row['statistics'] is not None]
        return [max(figures)] if figures else []

    def grown(key, store):
        return ratios(results['clients'], key,
                      {'store': store, 'clients': 1000000},
                      {'store': store, 'clients': 1000})

    def replayed(key, tool, other):
        return ratios(results['replay']['runs'], key, {'tool': tool},
                      {'tool': other})

    def bytes_of(algorithm):
        return values(results['algorithms'], 'bytes', algorithm=algorithm)

    return [
        Target('shared memory, one hot key: throughput to no limiter',
               beside('rps', 'hot', 'local'), 0.93, True),
        Target('shared memory, 100,000 keys: throughput to no limiter',
               beside('rps', 'keys', 'local'), 0.93, True),
        Target("shared memory, one hot key: worker CPU to limit_req's",
               beside('cpu', 'hot', 'local', 'limit_req'), 1.05),
        Target("shared memory, 100,000 keys: worker CPU to limit_req's",
               beside('cpu', 'keys', 'local', 'limit_req'), 1.05),
        Target('shared memory, rejecting: throughput to return 429',
               beside('rps', 'hot-reject', 'local'), 0.93, True),
        Target("shared memory, admitting: instructions to limit_req's handler",
               handler('local', 'limit_req'), 1.2),
        Target("shared memory, rejecting: instructions to limit_req's handler",
               handler('local reject', 'limit_req reject'), 1.2),
        Target('statistics of a request, the most of all cases: instructions',
               statistics(), 60),

        Target('Redis, 100,000 keys: worker CPU to no limiter',
               beside('cpu', 'keys', 'redis'), 1.35),
        Target('Redis, 100,000 keys: throughput to no limiter',
               beside('rps', 'keys', 'redis'), 0.54, True),
        Target("Redis, 100,000 keys: throughput to Lua's",
               beside('rps', 'keys', 'redis', 'lua'), 2, True),
        Target('Redis, 100,000 keys: Redis CPU of a request in µs',
               load('redis_cpu', 'keys', 'redis'), 9),

        Target('Redis, one hot key: throughput to no limiter',
               beside('rps', 'hot', 'redis'), 0.85, True),
        Target('Redis, one hot key: Redis calls a request',
               load('redis_calls', 'hot', 'redis'), 0.1),

        Target('deny cache, one hot key: throughput to return 429',
               beside('rps', 'hot-reject', 'redis'), 0.93, True),
        Target('deny cache, one hot key: Redis calls a second',
               [results['denied']], 1),

        Target('lease=10%, one hot key: throughput to no limiter',
               beside('rps', 'hot', 'lease'), 0.93, True),
        Target('lease=10%, one hot key: Redis calls a request',
               load('redis_calls', 'hot', 'lease'), 0.01),

        Target('one connection: what a check adds to a bare round trip',
               [(row['redis'] - row['none']) / row['bare']
                for row in results['latency']], 1.15),

        Target('Redis: bytes of a client, counter', bytes_of('counter'), 112),
        Target('Redis: bytes of a client, fixed', bytes_of('fixed'), 112),
        Target('Redis: bytes of an entry, log (half of a sorted set)',
               [size / results['entries'] for size in bytes_of('log')], 59),
        Target('shared memory: bytes of a client, counter, all in',
               [results['zone']], 128),

        Target('1 k to 1 M clients, shared memory: worker CPU',
               grown('cpu', 'local'), 1.15),
        Target('1 k to 1 M clients, Redis: worker CPU',
               grown('cpu', 'redis'), 1.15),
        Target('1 k to 1 M clients, Redis: Redis CPU',
               grown('redis_cpu', 'redis'), 1.15),
        Target('8 policies: Redis calls a request',
               values(results['policies'], 'calls', policies=8), 1),

        Target('slidewin-replay: million lines a second of one core',
               [results['replay']['lines'] / cpu / 1e6 for cpu in
                values(results['replay']['runs'], 'cpu', tool='plain')],
               1, True),
        Target("slidewin-replay, compressed log: time to zcat's",
               replayed('seconds', 'gzip', 'zcat'), 1.3),
        Target("slidewin-replay: GoAccess' CPU to it",
               replayed('cpu', 'goaccess', 'plain'), 10, True),
        Target('slidewin-replay: memory for twice the lines',
               [results['replay']['twice']], 1.1),
        Target('slidewin-replay: bytes of a client, counter',
               [results['replay']['client']], 200),
    ]
