"""./build.sh bench: measures all of it, and reports."""

import argparse
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import time

import callgrind
import growth
import latency
import limiters
import memory
import replay
import report
from load import zipf
from servers import Redis


class Bench:
    """What is measured with, and for how long."""

    def __init__(self, nginx, module, debian, peers, roundtrip, weblog,
                 program, out):
        self.nginx = nginx
        self.module = module
        self.debian = debian
        self.peers = peers
        self.roundtrip = roundtrip
        self.weblog = weblog
        self.program = program
        self.work = out / 'work'
        self.seconds = int(os.environ.get('BENCH_SECONDS', 1))
        self.rounds = int(os.environ.get('BENCH_ROUNDS', 7))
        self.lines = int(os.environ.get('BENCH_LINES', 10000000))
        self.started = time.monotonic()

    def say(self, text):
        print(f'{time.monotonic() - self.started:4.0f} s  {text}',
              file=sys.stderr, flush=True)


def first_line(*command):
    run = subprocess.run(command, check=True, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.stdout.splitlines()[0]


def machine(bench):
    cpuinfo = pathlib.Path('/proc/cpuinfo').read_text()
    models = [line.partition(':')[2].strip()
              for line in cpuinfo.splitlines() if line.startswith('model name')]
    memory_kb = int(pathlib.Path('/proc/meminfo').read_text().split()[1])
    return {
        'cpu': models[0] if models else platform.machine(),
        'cores': os.cpu_count(),
        'memory': round(memory_kb / (1 << 20)),
        'kernel': platform.release(),
        'nginx': first_line(bench.nginx, '-v').rpartition('/')[2],
        'redis': first_line('redis-server', '-v').split()[2].partition('=')[2],
        'haproxy': first_line(bench.peers / 'haproxy/usr/sbin/haproxy',
                              '-v').split()[2],
        'goaccess': first_line('goaccess', '--version').split()[2].strip('.'),
    }


def measure(bench):
    with Redis(bench.work / 'redis') as redis:
        results = {
            'machine': machine(bench),
            'rounds': bench.rounds,
            'seconds': bench.seconds,
            'latency': latency.run(bench),
            'instructions': callgrind.run(bench, redis),
            'entries': memory.ENTRIES,
            'algorithms': memory.redis_cost(bench, redis),
            'zone': memory.shared(bench),
            'policies': growth.policies(bench, redis),
        }
        results['limiters'], results['denied'] = limiters.run(bench)
    results['clients'], results['resident'] = growth.clients(bench)
    results['replay'] = replay.run(bench)
    bench.say('done')
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--nginx', required=True)
    parser.add_argument('--module', required=True)
    parser.add_argument('--debian', required=True)
    parser.add_argument('--peers', required=True, type=pathlib.Path)
    parser.add_argument('--roundtrip', required=True)
    parser.add_argument('--weblog', required=True)
    parser.add_argument('--program', required=True)
    parser.add_argument('--out', required=True, type=pathlib.Path)
    arguments = parser.parse_args()

    # whatever ends this ends what it has started
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, lambda *_: sys.exit(1))

    bench = Bench(**vars(arguments))
    shutil.rmtree(bench.work, ignore_errors=True)
    bench.work.mkdir(parents=True)
    if os.getloadavg()[0] > 0.5:
        bench.say(f'the machine is busy, load {os.getloadavg()[0]:.1f}:'
                  ' only instructions, bytes and calls can be trusted')
    bench.clients = {'one': 'one', 'zipf': zipf(bench.work / 'zipf')}

    results = measure(bench)
    path = arguments.out / 'results.json'
    path.write_text(json.dumps(results, indent=1))
    report.main(path, arguments.out)


if __name__ == '__main__':
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
