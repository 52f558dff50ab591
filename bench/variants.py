"""What is measured: the limiters, and the traffic they get.

Every server has /admit, whose limit no client reaches, and /reject, whose limit
every client has reached. A request carries its client in X-Client. It is served
in the content phase: `return` alone would answer before any limit."""

import dataclasses

HERE = __file__.rpartition('/')[0]

# in a minute: 200,000 a second, more than a worker serves
PLENTY = 12000000

NO_LIMITER = '''
    location /admit { empty_gif; }
    location /reject { return 429; }
'''

LIMIT_REQ = (f'''
    limit_req_zone $http_x_client zone=admit:32m rate={PLENTY}r/m;
    limit_req_zone $http_x_client zone=reject:32m rate=1r/m;
    limit_req_status 429;
    limit_req_log_level info;
''', '''
    location /admit { limit_req zone=admit burst=200000 nodelay; empty_gif; }
    location /reject { limit_req zone=reject; empty_gif; }
''')


def slidewin(redis='', admit='', reject=''):
    return f'''
    {f'slidewin_redis {redis} timeout=1s;' if redis else ''}
    slidewin_log_level info;
    slidewin_zone $http_x_client zone=admit:32m rate={PLENTY}r/m {admit};
    slidewin_zone $http_x_client zone=reject:32m rate=1r/d {reject};
''', '''
    location /admit { slidewin zone=admit; empty_gif; }
    location /reject { slidewin zone=reject; empty_gif; }
'''


LUA_MODULES = [
    'libnginx-mod-http-ndk/usr/lib/nginx/modules/ndk_http_module.so',
    'libnginx-mod-http-lua/usr/lib/nginx/modules/ngx_http_lua_module.so',
]


def lua(peers, redis):
    path = ';'.join([f'{HERE}/?.lua'] + [
        f'{peers}/{package}/usr/share/lua/5.1/?.lua'
        for package in ('lua-resty-core', 'lua-resty-lrucache',
                        'lua-nginx-redis')])
    return f'''
    lua_package_path "{path};;";
    init_by_lua_block {{ limit = require "limit" }}
''', f'''
    location /admit {{
        access_by_lua_block {{ limit({redis.port}, "admit", {PLENTY}, 60000) }}
        empty_gif;
    }}
    location /reject {{
        access_by_lua_block {{ limit({redis.port}, "reject", 1, 86400000) }}
        empty_gif;
    }}
'''


STICKLESS = '''
    http-request deny deny_status 429 if { path /reject }
'''

STICK_TABLES = f'''
    acl rejecting path /reject
    http-request track-sc0 hdr_ip(x-client) table admit if !rejecting
    http-request track-sc1 hdr_ip(x-client) table reject if rejecting
    http-request deny deny_status 429 if {{ sc0_http_req_rate gt {PLENTY} }}
    http-request deny deny_status 429 if {{ sc1_http_req_rate gt 1 }}
''', '''
backend admit
    stick-table type ip size 1m expire 60s store http_req_rate(60s)

backend reject
    stick-table type ip size 1m expire 1d store http_req_rate(1d)
'''


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    path: str
    clients: str


SCENARIOS = [
    Scenario('hot', 'one hot key, all admitted', '/admit', 'one'),
    Scenario('keys', '100,000 keys (zipf), all admitted', '/admit', 'zipf'),
    Scenario('hot-reject', 'one hot key, nearly all rejected', '/reject',
             'one'),
    Scenario('keys-reject', '100,000 keys (zipf), nearly all rejected',
             '/reject', 'zipf'),
]


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    title: str
    baseline: str
    redis: bool = False
    paths: tuple = ('/admit', '/reject')


VARIANTS = [
    Variant('none', 'nginx, no limiter', 'none'),
    Variant('limit_req', '`limit_req`', 'none'),
    Variant('local', 'slidewin, shared memory', 'none'),
    Variant('redis', 'slidewin, Redis', 'none', True),
    Variant('uncached', 'slidewin, Redis, `deny_cache=off`', 'none', True,
            ('/reject',)),
    Variant('lease', 'slidewin, Redis, `lease=10%`', 'none', True,
            ('/admit',)),
    Variant('debian', "Debian's nginx, no limiter", 'debian'),
    Variant('lua', "Debian's nginx, Lua and Redis", 'debian', True),
    Variant('haproxy', 'HAProxy, no limiter', 'haproxy'),
    Variant('stick', 'HAProxy, stick table', 'haproxy'),
]
