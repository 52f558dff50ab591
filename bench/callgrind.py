"""Instructions of a request, which do not depend on what else the machine does.

One nginx under callgrind has a location for each case. stub_status serves
/mark, and when that function is entered callgrind writes down what it has
counted and counts anew: between two marks are the requests of one case."""

import contextlib
import typing

from load import CONNECTIONS, Crowd, address, request
from servers import Nginx

TURNS = 10
MARK = 'ngx_http_stub_status_handler'
LIMIT_REQ = 'ngx_http_limit_req_handler'
SLIDEWIN = 'ngx_http_slidewin_handler'
RECORD = 'ngx_http_slidewin_record'
APART = ('ngx_http_slidewin_top_add', 'ngx_http_slidewin_shared_key_sample')


class Case(typing.NamedTuple):
    name: str
    title: str
    baseline: str
    path: str
    handler: str = SLIDEWIN
    one: bool = True        # all requests are of one client


CASES = [
    Case('none', 'no limiter', 'none', '/none', ''),
    Case('limit_req', '`limit_req`', 'none', '/limit_req', LIMIT_REQ),
    Case('local', 'shared memory', 'none', '/local'),
    Case('redis', 'Redis, each request another key', 'none', '/redis',
         one=False),
    Case('hot', 'Redis, one hot key', 'none', '/redis'),
    Case('lease', 'Redis, `lease=10%`, one hot key', 'none', '/lease'),
    Case('return', '`return 429`', 'return', '/return', ''),
    Case('limit_req reject', '`limit_req`, rejecting', 'return',
         '/limit_req-reject', LIMIT_REQ),
    Case('local reject', 'shared memory, rejecting', 'return',
         '/local-reject'),
    Case('redis reject', 'Redis, rejecting', 'return', '/redis-reject'),
    Case('uncached', 'Redis, `deny_cache=off`, rejecting', 'return',
         '/uncached'),
]


def configuration(redis):
    zones = {
        'local': 'rate=1000000r/m store=local',
        'redis': 'rate=1000000r/m',
        'lease': 'rate=1000000r/m lease=10%',
        'local-reject': 'rate=1r/d store=local',
        'redis-reject': 'rate=1r/d',
        'uncached': 'rate=1r/d deny_cache=off',
    }
    http = f'''
    slidewin_redis {redis.url} timeout=10s;
    limit_req_zone $http_x_client zone=admits:1m rate=1000000r/m;
    limit_req_zone $http_x_client zone=rejects:1m rate=1r/m;
    limit_req_status 429;
    limit_req_log_level info;
    slidewin_log_level info;
''' + ''.join(f'slidewin_zone $http_x_client zone={name}:1m {rest};\n'
              for name, rest in zones.items())

    locations = '''
    location /mark { stub_status; }
    location /none { empty_gif; }
    location /return { return 429; }
    location /limit_req { limit_req zone=admits burst=1000000 nodelay;
                          empty_gif; }
    location /limit_req-reject { limit_req zone=rejects; empty_gif; }
''' + ''.join(f'location /{name} {{ slidewin zone={name}; empty_gif; }}\n'
              for name in zones)

    return http, locations


class Profile(typing.NamedTuple):
    whole: int
    handler: int
    statistics: int


def parse(lines, name):
    """All instructions of a profile, those of a handler with all that it
    calls, and those of statistics. Our handler sends a rejection itself,
    limit_req's leaves that to nginx: it is no part of either. The list of the
    most rejected clients is no part of the statistics, nor are the samples
    that look for a shared key."""
    whole = handler = statistics = 0
    caller = called = ''
    at_call = False

    for line in lines:
        key, _, value = line.rstrip().partition('=')
        if key == 'fn':
            caller = value
        elif key == 'cfn':
            called = value
        elif key == 'calls':
            at_call = True
        elif line[0].isdigit():
            cost = int(line.split()[1])
            if not at_call:
                whole += cost
            elif called == name:
                handler += cost
            elif called == RECORD:
                statistics += cost
            elif called in APART:
                statistics -= cost
            elif (called == 'ngx_http_finalize_request'
                  and caller.startswith('ngx_http_slidewin_')):
                handler -= cost
            at_call = False

    if name and handler <= 0:
        raise SystemExit(f'callgrind has not seen {name}')
    if name == SLIDEWIN and statistics <= 0:
        raise SystemExit(f'callgrind has not seen {RECORD}')
    return Profile(whole, handler, statistics)


def run(bench, redis):
    bench.say('instructions')
    work = bench.work / 'callgrind'
    profile = work / 'profile'
    rows = []

    with contextlib.ExitStack() as stack:
        nginx = stack.enter_context(Nginx(
            work, bench.nginx, [bench.module],
            *configuration(redis), before=[
                'valgrind', '--quiet', '--tool=callgrind',
                f'--callgrind-out-file={profile}',
                '--compress-strings=no', '--compress-pos=no',
                f'--dump-before={MARK}']))
        crowd = stack.enter_context(Crowd(nginx.port))
        mark = [request('/mark', 'mark')]
        parts = 0

        for case in CASES:
            batch = [request(case.path, address(0 if case.one else i))
                     for i in range(CONNECTIONS)]
            for _ in 'warm', 'counted':
                for _ in range(TURNS):
                    crowd.ask(batch, pid=nginx.pid)
                crowd.ask(mark)
                parts += 1

            with open(f'{profile}.{parts}', encoding='utf-8') as lines:
                found = parse(lines, case.handler)
            n = TURNS * len(batch)
            rows.append({
                'case': case.name, 'round': 0, 'whole': found.whole / n,
                'handler': found.handler / n if case.handler else None,
                'statistics': (found.statistics / n
                               if case.handler == SLIDEWIN else None)})

    return rows
