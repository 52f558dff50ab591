"""Requests: as many as wrk can make in a time, or a given number of them."""

import itertools
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess

from servers import cpu_seconds

SCRIPT = pathlib.Path(__file__).with_name('load.lua')
CONNECTIONS = 64

STATUS = re.compile(rb'HTTP/1\.1 (\d{3}) ')
LENGTH = re.compile(rb'\r\nContent-Length: (\d+)', re.IGNORECASE)


def wrk(port, path, clients, seconds, connections=CONNECTIONS):
    command = ['wrk', '-t', '1', '-c', str(connections), '-d', f'{seconds}s',
               '--timeout', '10s', '-s', SCRIPT,
               f'http://127.0.0.1:{port}{path}', '--', clients]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                         check=True)
    result = json.loads(run.stdout.splitlines()[-1])
    if result['failed'] or not result['requests']:
        raise SystemExit(f'wrk {path}: {result}')
    return result


def measure(server, redis, path, clients, seconds):
    """Throughput, latency in ms, and what a request cost in microseconds."""
    calls, usec = redis.connection.script_calls()
    redis_cpu = cpu_seconds(redis.pid)
    cpu = cpu_seconds(server.pid)

    result = wrk(server.port, path, clients, seconds)

    cpu = cpu_seconds(server.pid) - cpu
    redis_cpu = cpu_seconds(redis.pid) - redis_cpu
    calls_after, usec_after = redis.connection.script_calls()
    n = result['requests']

    return {
        'rps': n / result['seconds'],
        'p50': result['p50'],
        'p99': result['p99'],
        'refused': result['refused'] / n,
        'cpu': cpu / n * 1e6,
        'redis_cpu': redis_cpu / n * 1e6,
        'redis_calls': (calls_after - calls) / n,
        'redis_usec': (usec_after - usec) / max(calls_after - calls, 1),
    }


def zipf(path, n=100000, draws=131072):
    """Writes a list of clients, the i-th of n as often as 1/i; the same one
    each time."""
    sums = list(itertools.accumulate(1 / i for i in range(1, n + 1)))
    clients = random.Random(1).choices(range(n), cum_weights=sums, k=draws)
    path.write_text(''.join(f'{address(i)}\n' for i in clients))
    return path


def address(i):
    return f'10.{i >> 16}.{i >> 8 & 255}.{i & 255}'


def request(path, client):
    return (f'GET {path} HTTP/1.1\r\nHost: bench\r\n'
            f'X-Client: {client}\r\n\r\n').encode()


class Crowd:
    """Connections that ask together and wait for all the answers."""

    def __init__(self, port, size=CONNECTIONS):
        self.connections = [
            socket.create_connection(('127.0.0.1', port), 60)
            for _ in range(size)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self.connections:
            connection.close()

    def ask(self, requests, depth=1, pid=None):
        """Each request once, up to `depth` of them on a connection's way;
        returns the statuses. The server `pid` finds them all at once."""
        statuses = []
        turn = depth * len(self.connections)

        for start in range(0, len(requests), turn):
            batch = requests[start:start + turn]
            shares = [batch[i::len(self.connections)]
                      for i in range(len(self.connections))]
            if pid:
                os.kill(pid, signal.SIGSTOP)
            for connection, share in zip(self.connections, shares):
                connection.sendall(b''.join(share))
            if pid:
                os.kill(pid, signal.SIGCONT)
            for connection, share in zip(self.connections, shares):
                statuses += answers(connection, len(share))

        return statuses


def answers(connection, n):
    data = b''
    while n and not whole(data, n):
        received = connection.recv(1 << 18)
        if not received:
            raise SystemExit('a server closed a connection')
        data += received
    return [int(status) for status in STATUS.findall(data)]


def whole(data, n):
    if len(STATUS.findall(data)) < n:
        return False
    head, end, body = data[data.rindex(b'HTTP/1.1 '):].partition(b'\r\n\r\n')
    length = LENGTH.search(head)
    return bool(end) and len(body) == int(length[1])
