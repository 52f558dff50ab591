"""The servers that are measured: on free ports of the loopback, in the
foreground, so that what was started is known by its pid and ended by it."""

import os
import pathlib
import socket
import subprocess
import time

from resp import Connection


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as listener:
        return listener.getsockname()[1]


def child_of(parent):
    """The pid of its only child."""
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = stat.read_text().rpartition(')')[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            return int(stat.parent.name)
    return None


def cpu_seconds(pid):
    """User and system time of all its threads: clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


class Server:
    """A process that listens on self.port; self.pid is the one that works."""

    def __init__(self, directory, command):
        self.log = directory / 'output'
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen(
                command, cwd=directory, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log)
        self.pid = self.process.pid

    def wait(self, ready, seconds=30):
        """Waits until ready() holds, and ends the process if it never does."""
        end = time.monotonic() + seconds
        try:
            while not ready():
                if self.process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f'{self.process.args[0]} does not start:'
                                     f'\n{self.said()}')
                time.sleep(0.02)
        except BaseException:
            Server.close(self)
            raise

    def said(self):
        return self.log.read_text(errors='replace')

    def listens(self):
        try:
            socket.create_connection(('127.0.0.1', self.port), 1).close()
        except OSError:
            return False
        return True

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


NGINX = '''
{modules}
{user}
worker_processes 1;
pid nginx.pid;
error_log stderr {level};

events {{ worker_connections 1024; }}

http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;

    {http}

    server {{
        listen 127.0.0.1:{port};
        {locations}
    }}
}}
'''


class Nginx(Server):
    """One worker. Under `before`, a command such as valgrind, it has no master
    and is itself the worker."""

    def __init__(self, directory, binary, modules, http, locations,
                 level='warn', before=()):
        directory.mkdir(parents=True)
        self.port = free_port()
        (directory / 'nginx.conf').write_text(NGINX.format(
            modules=''.join(f'load_module {m};\n' for m in modules),
            user='user root;' if os.geteuid() == 0 else '',
            level=level, http=http, port=self.port, locations=locations))

        alone = 'master_process off;' if before else ''
        super().__init__(directory, [
            *before, binary, '-p', f'{directory}/', '-c', 'nginx.conf',
            '-e', 'stderr', '-g', f'daemon off; {alone}'])
        self.wait(self.listens, 60)

        if not before:
            self.wait(lambda: child_of(self.process.pid))
            self.pid = child_of(self.process.pid)



HAPROXY = '''
global
    nbthread 1
    maxconn 1024

defaults
    mode http
    timeout client 1h
    timeout connect 1s
    timeout server 1s

frontend bench
    bind 127.0.0.1:{port}
    {rules}
    http-request return status 200 content-type image/gif file empty.gif

{tables}
'''

EMPTY_GIF = (b'GIF89a\1\0\1\0\x80\1\0\0\0\0\xff\xff\xff!\xf9\4\1\0\0\1\0,'
             b'\0\0\0\0\1\0\1\0\0\2\2L\1\0;')


class Haproxy(Server):
    def __init__(self, directory, binary, rules, tables=''):
        directory.mkdir(parents=True)
        self.port = free_port()
        (directory / 'empty.gif').write_bytes(EMPTY_GIF)
        (directory / 'haproxy.cfg').write_text(
            HAPROXY.format(port=self.port, rules=rules, tables=tables))
        super().__init__(directory, [binary, '-db', '-f', 'haproxy.cfg'])
        self.wait(self.listens)


class Redis(Server):
    def __init__(self, directory, before=()):
        directory.mkdir(parents=True)
        self.port = free_port()
        super().__init__(directory, [
            *before, 'redis-server', '--port', str(self.port), '--bind', '127.0.0.1',
            '--save', '', '--appendonly', 'no'])
        self.wait(self.listens)
        self.connection = Connection(self.port)

    @property
    def url(self):
        return f'redis://127.0.0.1:{self.port}'

    def close(self):
        self.connection.close()
        super().close()
