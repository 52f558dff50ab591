#!/usr/bin/env python3
"""Checks the vectors against the contract written down a second time.

    model.py FILE...          verify every line, exit 1 if one is wrong
    model.py --fill FILE...   write what stands right of "->" anew

The algorithm is the name of the file.  Nothing here is clever on purpose: the
estimate is a fraction, a time to wait is found by asking at later times.
"""

import os
import sys
from fractions import Fraction

NEVER = -1


class Pair:
    """fixed: index:curr, counter: index:prev:curr"""

    def __init__(self, text, rule, now):
        self.window = rule['window']
        self.sliding = rule['algorithm'] == 'counter'
        if text == '-':
            self.index, self.prev, self.curr = now // self.window, 0, 0
        elif self.sliding:
            self.index, self.prev, self.curr = map(int, text.split(':'))
        else:
            self.index, self.curr = map(int, text.split(':'))
            self.prev = 0

    def text(self):
        if not self.sliding:
            return f'{self.index}:{self.curr}'
        return f'{self.index}:{self.prev}:{self.curr}'

    def copy(self):
        new = object.__new__(Pair)
        new.__dict__.update(self.__dict__)
        return new

    def bring(self, now, limit):
        index = now // self.window
        if index < self.index - 1:
            held = self.used(self.index * self.window)
            self.index, self.prev = index, 0
            self.curr = min(limit, -(-held // 1))
        if index < self.index:
            return self.index * self.window
        while self.index < index and (self.prev or self.curr):
            self.index, self.prev, self.curr = self.index + 1, self.curr, 0
        self.index = index
        return now

    def used(self, then):
        if not self.sliding:
            return Fraction(self.curr)
        gone = then - self.index * self.window
        share = Fraction(self.window - gone, self.window)
        return self.prev * share + self.curr

    def add(self, then, cost):
        self.curr += cost

    def give(self, stamp, cost):
        if stamp // self.window == self.index:
            self.curr = max(0, self.curr - cost)
        if stamp // self.window == self.index - 1:
            self.prev = max(0, self.prev - cost)


class Slices:
    """strict: index:units of slice index - slices,...,units of slice index"""

    def __init__(self, text, rule, now):
        self.window, self.n = rule['window'], rule['slices']
        if text == '-':
            self.index, self.units = self.slice(now), {}
        else:
            index, units = text.split(':')
            units = [int(u) for u in units.split(',')]
            assert len(units) == self.n + 1
            self.index = int(index)
            self.units = {self.index - self.n + i: u
                          for i, u in enumerate(units)}

    def slice(self, t):
        return t * self.n // self.window

    def text(self):
        first = self.index - self.n
        return f'{self.index}:' + ','.join(
            str(self.units.get(first + i, 0)) for i in range(self.n + 1))

    def copy(self):
        new = object.__new__(Slices)
        new.__dict__.update(self.__dict__)
        new.units = dict(self.units)
        return new

    def bring(self, now, limit):
        index = self.slice(now)
        if index < self.index - self.n:
            held = sum(self.units.values())
            self.index, self.units = index, {index: min(limit, held)}
        if index < self.index:
            then = self.index * self.window // self.n
            while self.slice(then) < self.index:
                then += 1
            return then
        self.index = index
        self.units = {j: u for j, u in self.units.items()
                      if index < j + self.n + 1}
        return now

    def used(self, then):
        return Fraction(sum(self.units.values()))

    def add(self, then, cost):
        self.units[self.index] = self.units.get(self.index, 0) + cost

    def give(self, stamp, cost):
        j = self.slice(stamp)
        if j in self.units:
            self.units[j] = max(0, self.units[j] - cost)


class Log:
    """log: time*units,...,time*units, oldest first"""

    def __init__(self, text, rule, now):
        self.window = rule['window']
        self.entries = [] if text == '-' else [
            tuple(map(int, e.split('*'))) for e in text.split(',')]

    def text(self):
        return ','.join(f'{t}*{u}' for t, u in self.entries) or '-'

    def copy(self):
        new = object.__new__(Log)
        new.__dict__.update(self.__dict__)
        new.entries = list(self.entries)
        return new

    def bring(self, now, limit):
        newest = self.entries[-1][0] if self.entries else now
        if newest - now > self.window:
            held = sum(u for t, u in self.entries)
            self.entries = [(now, min(limit, held))]
            newest = now
        then = max(now, newest)
        self.entries = [(t, u) for t, u in self.entries
                        if then - self.window < t]
        return then

    def used(self, then):
        return Fraction(sum(u for t, u in self.entries))

    def add(self, then, cost):
        if self.entries and self.entries[-1][0] == then:
            cost += self.entries.pop()[1]
        self.entries.append((then, cost))

    def give(self, stamp, cost):
        self.entries = [(t, max(0, u - cost) if t == stamp else u)
                        for t, u in self.entries]
        self.entries = [(t, u) for t, u in self.entries if u]


KINDS = {'fixed': Pair, 'counter': Pair, 'strict': Slices, 'log': Log}


def fits(state, limit, now, cost):
    state = state.copy()
    then = state.bring(now, limit)
    return cost == 0 or state.used(then) + cost <= limit


def wait(state, limit, now, cost):
    if cost > limit:
        return NEVER
    high = 4 * state.window
    if state.window <= 2000:
        low = 0
        while not fits(state, limit, now + low, cost):
            low += 1
        return low
    low = -1
    assert fits(state, limit, now + high, cost)
    while low + 1 < high:
        middle = (low + high) // 2
        if fits(state, limit, now + middle, cost):
            high = middle
        else:
            low = middle
    return high


def take(state, rule, now, cost):
    limit = rule['limit']
    admitted = fits(state, limit, now, cost)
    then = state.bring(now, limit)
    used = state.used(then)
    scale = rule['window'] if rule['algorithm'] == 'counter' else 1
    level = used * scale
    assert level.denominator == 1
    remaining = max(0, (limit - used) // 1)
    retry = 0 if admitted else wait(state, limit, now, cost)
    if remaining == limit:
        more = rule['window']
    else:
        more = wait(state, limit, now, remaining + 1)
    reset = wait(state, limit, now, limit)
    if admitted and cost:
        state.add(then, cost)
    return (f'admitted={int(admitted)} remaining={remaining} retry={retry}'
            f' more={more} reset={reset} level={level}/{scale} stamp={then}'
            f' after={state.text()}')


def give(state, rule, now, cost, stamp):
    state.bring(now, rule['limit'])
    state.give(stamp, cost)
    return f'after={state.text()}'


def charge(state, rule, now, cost):
    most = (2 ** 32 - 1 if rule['algorithm'] == 'log'
            else (2 ** 53 - 1) // rule['window'])
    then = state.bring(now, most)
    counted = min(cost, max(0, (most - state.used(then)) // 1))
    if counted:
        state.add(then, counted)
    return f'counted={counted} after={state.text()}'


def answer(algorithm, question):
    verb, *words = question.split()
    given = dict(w.split('=', 1) for w in words)
    text = given.pop('state')
    given = {k: int(v) for k, v in given.items()}
    rule = {'algorithm': algorithm, 'limit': given['limit'],
              'window': given['window'], 'slices': given.get('slices')}
    state = KINDS[algorithm](text, rule, given['now'])
    if verb == 'take':
        return take(state, rule, given['now'], given['cost'])
    if verb == 'charge':
        return charge(state, rule, given['now'], given['cost'])
    assert verb == 'give'
    return give(state, rule, given['now'], given['cost'], given['stamp'])


def main(names):
    fill = names[:1] == ['--fill']
    wrong = count = 0
    for name in names[fill:]:
        algorithm = os.path.basename(name).split('.')[0]
        with open(name) as file:
            lines = file.read().splitlines()
        for n, line in enumerate(lines):
            if not line or line.startswith('#'):
                continue
            left, right = line.split('->')
            right, _, note = right.partition('#')
            says = answer(algorithm, left)
            lines[n] = f'{left.strip()} -> {says}  # {note.strip()}'
            count += 1
            if not fill and right.strip() != says:
                wrong += 1
                print(f'{name}:{n + 1}: {note.strip()}\n  has  '
                      f'{right.strip()}\n  want {says}')
        if fill:
            with open(name, 'w') as file:
                file.write('\n'.join(lines) + '\n')
    print(f'{count} vectors, {wrong} wrong')
    return wrong > 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
