"""A timeline of each algorithm, all of the same requests: what it admits, what
it counts, and what has really passed within the length of a window."""

import csv
from collections import defaultdict
from dataclasses import dataclass, field

from svg import line, number, path, picture, rect, text, texts

WIDTH, HEIGHT = 880, 476
LEFT, RIGHT = 64, 24
TOP = 76
DOTS, LEVEL = 206, 396                # the grounds of the dots and the curves
UNIT = 7.4                            # height of a unit
BIN, DOT = 500, 10                    # ms of a column of dots, its step

STYLE = '''
.band { fill: var(--faint); }
.axis { stroke: var(--edge); }
.grid { stroke: var(--edge); stroke-dasharray: 2 4; }
.limit { stroke: var(--text); stroke-dasharray: 6 4; }
.admitted { fill: var(--blue); }
.rejected { stroke: var(--red); stroke-width: 1.8; stroke-linecap: round; }
.counts { fill: var(--blue-back); }
.level { fill: none; stroke: var(--blue); stroke-width: 1.5; }
.passed { fill: none; stroke: var(--text); stroke-width: 1.8; }
.over { fill: var(--red); opacity: 0.28; }
.call { fill: var(--red); font-weight: 600; }
.mark { fill: var(--text); }
'''


@dataclass
class Run:
    """What became of the requests of one algorithm; times in ms."""
    limit: int
    window: int
    slices: int
    requests: list = field(default_factory=list)   # (time, admitted, retry)
    levels: list = field(default_factory=list)     # (time, units)

    @property
    def admitted(self):
        return [at for at, admitted, _ in self.requests if admitted]

    @property
    def end(self):
        return self.levels[-1][0]

    def passed(self):
        """Steps (time, units) of what was admitted in (time - window, time]."""
        changes = defaultdict(int)
        for at in self.admitted:
            changes[at] += 1
            changes[at + self.window] -= 1
        units, steps = 0, [(0, 0)]
        for at in sorted(at for at in changes if at <= self.end):
            steps.append((at, units))
            units += changes[at]
            steps.append((at, units))
        return steps + [(self.end, units)]

    def most(self):
        """(time, units) of its first highest step."""
        return max(self.passed(), key=lambda step: (step[1], -step[0]))

    def admitted_between(self, begin, end):
        return len([at for at in self.admitted if begin <= at < end])

    def first_rejection(self):
        return next((at, retry) for at, admitted, retry in self.requests
                    if not admitted)


def read(lines):
    """The runs of trace.c, by the name of the algorithm."""
    runs = {}
    for kind, name, *values in csv.reader(lines):
        values = [int(value) for value in values]
        if kind == 'rule':
            runs[name] = Run(*values)
        elif kind == 'request':
            runs[name].requests.append((values[0], bool(values[1]), values[2]))
        else:
            runs[name].levels.append((values[0], values[1]
                                      / runs[name].window))
    return runs


TITLES = {
    'counter': 'the window before weighs as much as still overlaps',
    'fixed': 'each window begins at zero',
    'strict': 'a slice that still overlaps the window counts whole',
    'log': 'every admitted request is remembered for one window',
}


def remarks(name, run):
    """Two lines below the picture. The figures are those of the run."""
    most = run.most()[1]
    burst = run.admitted_between(18000, 20000)
    second = run.admitted_between(20000, 21000)
    again = next(at for at in run.admitted if at >= 21000) / 1000
    hard = (f'{burst} of the first burst pass and {second or "none"} of the'
            f' second: never more than {most} in any 10 s.')
    return {
        'counter': (
            f'Of the bursts {burst} and {second} pass. Then the estimate sinks'
            ' evenly, and about one request a second fits.',
            f'The burst was late in its window: {most} have passed within'
            ' 10 s. The worst case is 2·L−1 = 19.'),
        'fixed': (
            f'At 20 s the count begins anew: {burst} of the first burst and'
            f' {second} of the second pass,',
            f'{most} within 10 s, which is the worst case, 2·L. The next'
            f' request passes at {number(again)} s.'),
        'strict': (
            hard,
            f'The burst leaves with its whole slice, at {number(again)} s.'
            ' Drawn with slices=4; the default of 16 lets it leave sooner.'),
        'log': (
            hard,
            'Each request leaves exactly 10 s after it came: the next one'
            f' passes at {number(again)} s.'),
    }[name]


def timeline(name, run):
    scale = (WIDTH - LEFT - RIGHT) / run.end

    def x(at):
        return LEFT + at * scale

    def y(units):
        return LEVEL - units * UNIT

    parts = [*header(name, run), *bands(name, run, x), *axes(run, x, y),
             *curves(run, x, y), *dots(run, x), *words(run, x, y)]

    for at, remark in enumerate(remarks(name, run)):
        parts.append(text(LEFT, 444 + 19 * at, remark))

    at, units = run.most()
    return picture(
        WIDTH, HEIGHT, f'Timeline of algorithm={name}',
        f'{len(run.requests)} requests of one client in {run.end // 1000}'
        f' seconds against a limit of {run.limit} in {run.window // 1000}'
        f' seconds: {len(run.admitted)} are admitted,'
        f' {len(run.requests) - len(run.admitted)} rejected, at most {units}'
        f' are admitted in any {run.window // 1000} seconds. '
        + ' '.join(remarks(name, run)), parts, STYLE)


def header(name, run):
    kind = f'algorithm={name}' + (f' slices={run.slices}' if run.slices else '')
    at, retry = run.first_rejection()
    return [
        texts(LEFT, 34, (kind, 'title'), (TITLES[name], 'soft')),
        text(LEFT, 56, f'rate={run.limit}r/{run.window // 1000}s.'
             f' {len(run.admitted)} of {len(run.requests)} requests admitted.'
             f' The first rejection, at {number(at / 1000)} s, has'
             f' Retry-After: {-(-retry // 1000)}.', 'soft')]


def bands(name, run, x):
    """Every other window, or slice, in another shade, and what they are."""
    step, word = run.window, 'window'
    if run.slices:
        step, word = run.window // run.slices, 'slice'

    if name == 'log':
        begin, end, y = x(18500), x(18500 + run.window), DOTS + 16
        return [line(begin, y, end, y, 'axis'),
                line(begin, y - 4, begin, y + 4, 'axis'),
                line(end, y - 4, end, y + 4, 'axis'),
                text((begin + end) / 2, y + 15, f'{run.window // 1000} s',
                     'small soft middle')]

    parts = []
    for at in range(0, run.end, 2 * step):
        until = min(at + step, run.end)
        parts.append(rect(x(at), TOP, x(until) - x(at), LEVEL - TOP, 'band'))
    parts.append(text(x(0) + 10, DOTS + 22, f'one {word}', 'small soft'))
    return parts


def axes(run, x, y):
    parts = [line(x(0), DOTS, x(run.end), DOTS, 'axis'),
             line(x(0), y(0), x(run.end), y(0), 'axis'),
             line(x(0), y(run.limit), x(run.end), y(run.limit), 'limit'),
             line(x(0), y(2 * run.limit), x(run.end), y(2 * run.limit),
                  'grid')]
    for units in 0, run.limit, 2 * run.limit:
        parts.append(text(LEFT - 8, y(units) + 4, str(units), 'small soft end'))
    parts.append(text(LEFT - 8, y(run.limit) + 17, 'limit', 'small end'))
    for at in range(0, run.end + 1, 5000):
        parts += [line(x(at), y(0), x(at), y(0) + 4, 'axis'),
                  text(x(at), y(0) + 18, f'{at // 1000} s',
                       'small soft middle')]
    return parts


def curves(run, x, y):
    counts = [(x(at), y(units)) for at, units in run.levels]
    passed = [(x(at), y(units)) for at, units in run.passed()]
    over = [(px, min(py, y(run.limit))) for px, py in passed]
    ground = y(run.limit)
    return [
        path([(x(0), y(0)), *counts, (x(run.end), y(0))], 'counts'),
        path(counts, 'level'),
        path([(x(0), ground), *over, (x(run.end), ground)], 'over', True),
        path(passed, 'passed')]


def dots(run, x):
    """A column for each half second, the first request at its foot."""
    columns, parts = defaultdict(int), []
    for at, admitted, _ in run.requests:
        column = at // BIN
        cx = x(column * BIN + BIN / 2)
        cy = DOTS - DOT * columns[column] - DOT / 2 - 1
        columns[column] += 1
        parts.append(dot(cx, cy) if admitted else cross(cx, cy))
    return parts


def dot(x, y):
    return (f'<circle cx="{number(x)}" cy="{number(y)}" r="3.6"'
            ' class="admitted"/>')


def cross(x, y):
    return (f'<path d="M{number(x - 3)},{number(y - 3)} l6,6 m0,-6 l-6,6"'
            ' class="rejected"/>')


def words(run, x, y):
    at, units = run.most()
    kind = 'call' if units > run.limit else 'strong'
    legend = x(0) + 10
    return [
        dot(legend + 6, 96), text(legend + 20, 100, 'admitted', 'small'),
        cross(legend + 6, 112), text(legend + 20, 116, 'rejected', 'small'),
        text(x(18500) - 8, 108, 'a burst of 12 before 20 s', 'small soft end'),
        text(x(20500) + 8, 108, 'and one after it, then two requests a second',
             'small soft'),
        rect(legend, y(18) - 9, 12, 10, 'counts'),
        line(legend, y(18) - 9, legend + 12, y(18) - 9, 'level'),
        text(legend + 20, y(18), 'what the algorithm counts', 'small'),
        line(legend, y(16) - 4, legend + 12, y(16) - 4, 'passed'),
        text(legend + 20, y(16), 'what was admitted in the last'
             f' {run.window // 1000} s', 'small'),
        rect(legend, y(14) - 9, 12, 10, 'over'),
        text(legend + 20, y(14), 'above the limit', 'small'),
        text(x(at), y(units) - 6, f'{units} in {run.window // 1000} s',
             f'small {kind}')]
