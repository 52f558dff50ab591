"""slidewin-replay beside GoAccess and zcat: the same log; and its memory by lines
and by clients."""

import os
import pathlib
import re
import shutil
import subprocess
import time

CLIENTS = 100000, 1100000
OPTIONS = ['--key', '$remote_addr', '--rate', '60r/m']
# GoAccess takes minutes for a log that the others read in seconds
ROUNDS = 3
PEAK = re.compile(r'^VmHWM:\s+(\d+) kB', re.M)


def timed(command, directory):
    """Seconds, those of all cores together, and the peak of its resident memory
    in bytes. Not what wait4() says of memory: that has this process in it, from
    before the exec."""
    with open(directory / 'errors', 'wb') as errors:
        start = time.monotonic()
        process = subprocess.Popen(command, cwd=directory, stderr=errors,
                                   stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL)
    status = pathlib.Path(f'/proc/{process.pid}/status')
    peak = pid = 0

    while pid == 0:
        found = PEAK.search(status.read_text())
        peak = max(peak, int(found[1]) if found else 0)
        time.sleep(0.005)
        pid, code, usage = os.wait4(process.pid, os.WNOHANG)

    seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        raise SystemExit(f'{command[0]} failed: '
                         f'{(directory / "errors").read_text()[-2000:]}')
    return {'seconds': seconds, 'cpu': usage.ru_utime + usage.ru_stime,
            'memory': 1024 * peak}


def generate(bench, path, lines, clients):
    with open(path, 'wb') as log:
        subprocess.run([bench.weblog, str(lines), str(clients)], check=True,
                       stdout=log)


def cached(path):
    """Reads it once, so that no program waits for the disk."""
    with open(path, 'rb') as log:
        while log.read(1 << 22):
            pass


def peak(bench, directory, lines, clients):
    path = directory / 'memory.log'
    generate(bench, path, lines, clients)
    found = timed([bench.program, *OPTIONS, path], directory)['memory']
    path.unlink()
    return found


def memory(bench, directory):
    """How much more twice the lines take, and the bytes of a client."""
    lines = max(bench.lines // 5, 2 * CLIENTS[1])
    bench.say('replay, memory')
    few, many = (peak(bench, directory, lines, n) for n in CLIENTS)
    return {
        'twice': peak(bench, directory, 2 * lines, CLIENTS[0]) / few,
        'client': (many - few) / (CLIENTS[1] - CLIENTS[0]),
    }


def runs(bench, directory):
    log, packed = directory / 'access.log', directory / 'access.log.gz'

    bench.say(f'replay, a log of {bench.lines:,} lines')
    generate(bench, log, bench.lines, CLIENTS[0])
    subprocess.run(['gzip', '--keep', log], check=True)
    size = log.stat().st_size

    commands = {
        'plain': [bench.program, *OPTIONS, log],
        'gzip': [bench.program, *OPTIONS, packed],
        'zcat': ['zcat', packed],
        'goaccess': ['goaccess', log, '--log-format=COMBINED',
                     '--no-global-config', '--no-progress', '-o',
                     'goaccess.json'],
    }
    rows = []

    for turn in range(min(bench.rounds, ROUNDS)):
        for tool, command in commands.items():
            if tool == 'goaccess' and turn:
                continue
            bench.say(f'replay, round {turn + 1}: {tool}')
            cached(log)
            cached(packed)
            rows.append({'tool': tool, 'round': turn,
                         **timed(command, directory)})

    return {'lines': bench.lines, 'bytes': size, 'runs': rows}


def run(bench):
    directory = bench.work / 'replay'
    directory.mkdir(parents=True)

    try:
        return {**runs(bench, directory), **memory(bench, directory)}
    finally:
        shutil.rmtree(directory)
