"""A connection to Redis, as much of it as the bench needs."""

import socket


def encode(words):
    return b''.join([b'*%d\r\n' % len(words)]
                    + [b'$%d\r\n%s\r\n' % (len(word), word)
                       for word in words])


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(('127.0.0.1', port), 60)
        self.reader = self.socket.makefile('rb')

    def close(self):
        self.reader.close()
        self.socket.close()

    def command(self, *words):
        self.socket.sendall(encode([str(word).encode() for word in words]))
        return self.reply()

    def pipeline(self, commands):
        self.socket.sendall(b''.join(
            encode([str(word).encode() for word in words])
            for words in commands))
        return [self.reply() for _ in commands]

    def reply(self):
        """A number or a text: nothing that is asked here is answered by an
        array."""
        line = self.reader.readline().rstrip(b'\r\n').decode()
        kind, rest = line[:1], line[1:]
        if kind == ':':
            return int(rest)
        if kind == '+':
            return rest
        if kind == '$':
            return self.reader.read(int(rest) + 2)[:-2].decode('latin-1')
        raise SystemExit(f'Redis says: {line}')

    def info(self, section):
        lines = self.command('INFO', section).splitlines()
        return dict(line.split(':', 1) for line in lines if ':' in line)

    def script_calls(self):
        """How many scripts it was asked to run, and the microseconds."""
        calls = usec = 0
        stats = self.info('commandstats')
        for name in 'evalsha', 'eval':
            if text := stats.get(f'cmdstat_{name}'):
                fields = dict(field.split('=') for field in text.split(','))
                calls += int(fields['calls'])
                usec += int(fields['usec'])
        return calls, usec
