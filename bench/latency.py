"""One client, one connection: what a check adds, beside one bare round trip of
the same command."""

import contextlib
import os
import re
import subprocess

import variants
from load import Crowd, request, wrk
from resp import Connection, encode
from servers import Nginx, Redis


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


@contextlib.contextmanager
def on(cpu):
    """What is started meanwhile runs on that CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run(bench):
    """A wake-up of another CPU costs more than all the rest, and must not be a
    matter of chance: nginx, or the bare client, is on one, and its peers are on
    another."""
    rows = []
    cpus = sorted(os.sched_getaffinity(0))
    here, there = cpus[0], cpus[-1]
    work = bench.work / 'latency'

    with contextlib.ExitStack() as stack:
        with on(there):
            redis = stack.enter_context(Redis(work / 'redis'))
        with on(here):
            none = stack.enter_context(Nginx(
                work / 'none', bench.nginx, [], '', variants.NO_LIMITER))
            limited = stack.enter_context(Nginx(
                work / 'limited', bench.nginx, [bench.module],
                *variants.slidewin(redis.url)))
        command = command_of(redis, limited)

        for turn in range(bench.rounds):
            bench.say(f'latency, round {turn + 1} of {bench.rounds}')
            with on(there):
                without, check = (
                    wrk(nginx.port, '/admit', 'one', bench.seconds,
                        connections=1)['p50'] for nginx in (none, limited))
            with on(here):
                rows.append({'round': turn, 'none': without, 'redis': check,
                             'bare': bare(bench, redis, command)})

    return rows
