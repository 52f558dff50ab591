"""The limiters of the bench: for each kind of traffic a bar for the throughput
and one for the CPU of the worker, both as ratios to the same server without a
limiter. bench/chart.py draws a run, draw.py the tables of docs/performance.md.
"""

import re
from dataclasses import dataclass, field

from svg import line, number, picture, rect, text

WIDTH = 880
ROW = 22
THROUGHPUT, CPU, CALLS = 250, 560, 800      # where the columns begin
# the length of 1, and the value of the longest bar
THROUGHPUT_SCALE = 200, 1.3
CPU_SCALE = 44, 4.5

STYLE = '''
.value { font-size: 11px; paint-order: stroke; stroke: var(--page); stroke-width: 3; }
.one { stroke: var(--soft); stroke-dasharray: 3 3; }
.ours { fill: var(--blue); }
.others { fill: var(--grey); }
'''


@dataclass
class Limiter:
    title: str
    throughput: float
    cpu: float
    calls: float = None                     # None if it asks no Redis

    @property
    def kind(self):
        return 'ours' if self.title.startswith('slidewin') else 'others'


@dataclass
class Traffic:
    title: str
    base: str                               # what 1 is
    limiters: list = field(default_factory=list)


def bar(x, y, value, scale, kind):
    unit, most = scale
    length = unit * min(value, most)
    return (rect(x, y - 12, length, 15, kind)
            + text(x + length + 5, y, f'{value:.2f}', 'value'))


def draw(kinds):
    parts, y = [], 12

    for traffic in kinds:
        y += ROW
        parts += [text(16, y, traffic.title, 'strong'),
                  text(THROUGHPUT, y + ROW, f'throughput, {traffic.base} = 1',
                       'small soft'),
                  text(CPU, y + ROW, f'worker CPU, {traffic.base} = 1',
                       'small soft'),
                  text(CALLS, y + ROW, 'Redis calls', 'small soft')]
        y += ROW

        for x in THROUGHPUT + THROUGHPUT_SCALE[0], CPU + CPU_SCALE[0]:
            parts.append(line(x, y + 6, x, y + 6 + ROW * len(traffic.limiters),
                              'one'))

        for limiter in traffic.limiters:
            y += ROW
            parts += [text(16, y, limiter.title),
                      bar(THROUGHPUT, y, limiter.throughput, THROUGHPUT_SCALE,
                          limiter.kind),
                      bar(CPU, y, limiter.cpu, CPU_SCALE, limiter.kind)]
            if limiter.calls is not None:
                parts.append(text(CALLS, y, f'{limiter.calls:.3f}',
                                  'small soft'))
        y += ROW

    return picture(
        WIDTH, y, 'Throughput and worker CPU of the limiters',
        'Bars for each kind of traffic and each limiter: throughput and CPU of'
        ' a worker as ratios to the same server without a limiter, or with a'
        ' bare 429, and Redis calls of a request. docs/performance.md has the'
        ' figures as tables.', parts, STYLE)


def read(page):
    """The tables of limiters, as bench/report.py writes them."""
    kinds = []
    for block in re.split(r'\n\n+', page):
        lines = [[cell.strip() for cell in row.strip('|').split('|')]
                 for row in block.splitlines() if row.startswith('|')]
        if not lines or lines[0][1:2] != ['throughput']:
            continue
        title, *columns = lines[0]
        traffic = Traffic(title.strip('*'), '')
        for name, *cells in lines[2:]:
            cell = dict(zip(columns, cells))
            name = name.replace('`', '')
            if cell['throughput'].endswith('/s'):
                traffic.base = traffic.base or name.split(', ')[1]
                continue
            calls = cell['Redis calls']
            traffic.limiters.append(Limiter(
                name, float(cell['throughput']), float(cell['worker CPU']),
                None if calls == '–' else float(calls)))
        kinds.append(traffic)
    return kinds
