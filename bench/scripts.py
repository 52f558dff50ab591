"""scripts.py REVISION: what a check costs Redis, by the scripts of another
revision and by those here.

Microseconds are Redis' own (INFO commandstats) of calls in a pipeline, both by
turns in rounds; instructions are those of EVALSHA under callgrind."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import typing

from callgrind import parse
from report import number, table
from resp import encode
from servers import Redis
from stats import median

ROOT = pathlib.Path(__file__).parent.parent
ROUNDS = int(os.environ.get('BENCH_ROUNDS', 7))
WINDOW = 3600 * 1000
TURNS = 20
TIMED, COUNTED = 1000, 50       # clients
ONE = {'c': 'take_pair', 'f': 'take_pair', 's': 'take_strict', 'l': 'take_log'}
POLICIES = {'c': '`counter`', 'f': '`fixed`', 's': '`strict`', 'l': '`log`',
            'cc': 'two `counter`', 'll': 'two `log`',
            'cl': '`counter` and `log`'}


class Case(typing.NamedTuple):
    name: str
    limit: int
    warm: int               # calls of a client before the measured ones
    turns: int = TURNS      # measured calls
    leave: bool = False     # entries of a log leave meanwhile


CASES = [Case('first', 100000, 0, 1), Case('admitted', 100000, 1),
         Case('refused', 5, 6)]
LEAVE = [Case('admitted as others leave', 100000, 0, leave=True),
         Case('refused as others leave', 10, 0, leave=True)]


def scripts(directory):
    """By their names, as the module sends them."""
    header = subprocess.run(['sh', directory / 'embed.sh', directory],
                            check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    found = {}
    for part in header.split('#define NGX_HTTP_SLIDEWIN_LUA_')[1:]:
        text = ''.join(re.findall(r'^ +"(.*)" \\$', part, re.M))
        found[part.split()[0].lower()] = re.sub(
            r'\\(.)', lambda m: '\n' if m[1] == 'n' else m[1], text)
    return found


def revision(name, directory):
    archive = subprocess.run(['git', '-C', ROOT, 'archive', name, 'lua'],
                             check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(['tar', '-x', '-C', directory], check=True, input=archive)
    return scripts(pathlib.Path(directory) / 'lua')


def packed(*numbers):
    return b''.join(n.encode() if isinstance(n, str)
                    else n.to_bytes(7, 'little') for n in numbers)


def log():
    """A log of 12 entries, 2 of which have left an hour."""
    now = int(time.time() * 1000)
    value = b'l' + WINDOW.to_bytes(4, 'little')
    value += (now - WINDOW // 10).to_bytes(6, 'little') + bytes(6)
    for i in range(12):
        entry = now - (12 - i) * WINDOW // 11
        value += entry.to_bytes(6, 'little') + (i + 1).to_bytes(6, 'little')
    return value


class Side:
    """The scripts of one revision in a Redis, and clients of their own."""

    def __init__(self, connection, texts, name):
        self.connection = connection
        self.name = name
        self.shas = {name: connection.command('SCRIPT', 'LOAD', text)
                     for name, text in texts.items()}
        # algorithms that go by Redis' clock alone get no time
        self.exact = '' if 'now == 0' in texts['take_log'] else 'sl'

    def keys(self, letters, client):
        return [b'%s:{192.168.%d.%d}:policy%d' % (
            self.name, *divmod(client, 250), i) for i in range(len(letters))]

    def send(self, commands):
        self.connection.socket.sendall(b''.join(map(encode, commands)))
        for _ in commands:
            self.connection.reply()

    def ask(self, letters, limit, clients):
        """Each client once."""
        name = ONE[letters] if len(letters) == 1 else 'take'
        sha = self.shas.get(name, self.shas['take']).encode()
        now = 0 if set(letters) & set(self.exact) else int(time.time() * 1000)
        argument = packed(1, now, 1, *(
            field for letter in letters
            for field in (letter, limit, WINDOW, 16 * (letter == 's'), 1, 0,
                          0)))
        self.send([[b'EVALSHA', sha, b'%d' % len(letters),
                    *self.keys(letters, client), argument]
                   for client in range(clients)])

    def prepare(self, letters, case, clients):
        if case.leave:
            self.send([[b'SET', key, log(), b'PX', b'%d' % WINDOW]
                       for client in range(clients)
                       for key in self.keys(letters, client)])
        for _ in range(case.warm):
            self.ask(letters, case.limit, clients)


def usec(sides, letters, case):
    """Of a call, for each turn and side."""
    connection = sides[0].connection
    found = []
    connection.command('FLUSHALL')
    for side in sides:
        side.prepare(letters, case, TIMED)
    for _ in range(case.turns):
        turn = []
        for side in sides:
            connection.command('CONFIG', 'RESETSTAT')
            side.ask(letters, case.limit, TIMED)
            calls, spent = connection.script_calls()
            turn.append(spent / calls)
        found.append(turn)
    return found


def instructions(side, letters, case, profile):
    """PING makes callgrind write down what it has counted, and count anew."""
    side.connection.command('FLUSHALL')
    side.prepare(letters, case, COUNTED)
    side.connection.command('PING')
    for _ in range(case.turns):
        side.ask(letters, case.limit, COUNTED)
    side.connection.command('PING')

    last = max(profile.parent.glob(profile.name + '.*'),
               key=lambda path: int(path.suffix[1:]))
    with open(last, encoding='utf-8') as lines:
        _, spent, _ = parse(lines, 'evalShaCommand')
    return spent / (COUNTED * case.turns)


def measure(name, work, texts):
    cases = [(letters, case) for letters in POLICIES
             for case in CASES + (LEAVE if set(letters) == {'l'} else [])]
    profile = work / 'profile'

    def sides(redis):
        return [Side(redis.connection, *side)
                for side in zip(texts, (b'old', b'new'))]

    with Redis(work / 'counted', [
            'valgrind', '--quiet', '--tool=callgrind',
            f'--callgrind-out-file={profile}', '--compress-strings=no',
            '--compress-pos=no', '--dump-before=pingCommand']) as redis:
        both = sides(redis)
        counts = [[instructions(side, *case, profile) for side in both]
                  for case in cases]

    with Redis(work / 'timed') as redis:
        both = sides(redis)
        times = [[] for _ in cases]
        for _ in range(ROUNDS):
            for found, case in zip(times, cases):
                found += usec(both, *case)

    print(table(
        ['**a check at Redis**', f'µs, {name}', 'µs', 'ratio',
         f'instructions, {name}', 'instructions', 'ratio'],
        [[f'{POLICIES[letters]}, {case.name}',
          *(number(median(side)) for side in zip(*found)),
          number(median([new / old for old, new in found])),
          *(number(count, 0) for count in counted),
          number(counted[1] / counted[0])]
         for (letters, case), found, counted in zip(cases, times, counts)]))


def main(name):
    with tempfile.TemporaryDirectory(prefix='slidewin.') as work:
        work = pathlib.Path(work)
        measure(name, work, [revision(name, work), scripts(ROOT / 'lua')])


if __name__ == '__main__':
    main(*sys.argv[1:])
