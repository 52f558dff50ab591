"""One client, one connection: what a check adds, beside one bare round trip of
the same command."""

import shlex
import subprocess

import variants
from load import Crowd, request, wrk
from resp import Connection
from servers import Nginx


def command_of(redis, nginx):
    """The command that the module sends for a check, as MONITOR shows it."""
    monitor = Connection(redis.port)
    monitor.command('MONITOR')
    with Crowd(nginx.port, 1) as one:
        one.ask([request('/admit', '10.0.0.1')])
    words = ['']
    while words[0].lower() != 'evalsha':
        words = shlex.split(monitor.reply())[3:]
    monitor.close()
    return words


def bare(redis, command, seconds):
    """The median in ms of the round trip, by redis-benchmark."""
    output = subprocess.run(
        ['redis-benchmark', '-p', str(redis.port), '-c', '1',
         '-n', str(5000 * seconds), '--csv', *command],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    head, row = (line.split('","') for line in output.splitlines()[-2:])
    return float(row[head.index('p50_latency_ms')])


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
                         'bare': bare(redis, command, bench.seconds)})

    return rows
