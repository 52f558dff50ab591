"""One client, one connection: what a check adds, beside one bare round trip of
the same command."""

import re
import subprocess

import variants
from load import Crowd, request, wrk
from resp import Connection, encode
from servers import Nginx


WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')


def words(line):
    """The command of a line of MONITOR, in bytes."""
    return [word.encode().decode('unicode_escape').encode('latin-1')
            for word in WORD.findall(line)]


def command_of(redis, nginx):
    """The command that the module sends for a check."""
    monitor = Connection(redis.port)
    monitor.command('MONITOR')
    with Crowd(nginx.port, 1) as one:
        one.ask([request('/admit', '10.0.0.1')])
    command = [b'']
    while command[0].lower() != b'evalsha':
        command = words(monitor.reply())
    monitor.close()
    return command


def bare(bench, redis, command):
    """The median of its round trip in ms."""
    run = subprocess.run(
        [bench.roundtrip, str(redis.port), str(5000 * bench.seconds)],
        input=encode(command), check=True, stdout=subprocess.PIPE)
    return float(run.stdout) / 1000


def run(bench, redis):
    rows = []

    with Nginx(bench.work / 'latency/none', bench.nginx, [], '',
               variants.NO_LIMITER) as none, \
         Nginx(bench.work / 'latency/redis', bench.nginx, [bench.module],
               *variants.slidewin(redis.url)) as limited:
        command = command_of(redis, limited)

        for turn in range(bench.rounds):
            bench.say(f'latency, round {turn + 1} of {bench.rounds}')
            without, with_check = (
                wrk(nginx.port, '/admit', 'one', bench.seconds,
                    connections=1)['p50'] for nginx in (none, limited))
            rows.append({'round': turn, 'none': without, 'redis': with_check,
                         'bare': bare(bench, redis, command)})

    return rows
