"""How far the algorithms are from the exact log: for each kind of traffic and
each algorithm a bar for what was wrongly admitted, one for what was wrongly
rejected, and one for the fullest rolling window. draw.py reads the table of
docs/algorithms.md, which ./build.sh accuracy prints."""

import re
from dataclasses import dataclass

from svg import line, picture, rect, text

WIDTH = 880
ROW, BAR = 17, 12
NAME = 126                                  # where algorithms are named
# of a column: its head, where it begins, and the length and value of its end
ADMITTED = 'wrongly admitted', 200, 160, 35
REJECTED = 'wrongly rejected', 430, 160, 35
MOST = 'most in a rolling window, limit = 1', 660, 160, 2

STYLE = '''
.value { font-size: 11px; }
.one { stroke: var(--soft); stroke-dasharray: 3 3; }
.axis { stroke: var(--edge); }
.counter { fill: var(--blue); }
.fixed { fill: var(--amber); }
.strict { fill: var(--green); }
'''


@dataclass
class Row:
    traffic: str
    algorithm: str
    admitted: float                         # percent of all requests
    rejected: float
    most: float                             # limits in a rolling window


def bar(y, value, column, shown, kind):
    _, x, length, end = column
    length = length * value / end
    return (rect(x, y - BAR + 2, max(length, 1), BAR, kind)
            + text(x + length + 5, y, shown, 'value'))


def draw(limit, rows):
    parts, y, before = [], 28, None

    for title, x, _, _ in (ADMITTED, REJECTED, MOST):
        parts.append(text(x, y, title, 'small soft'))

    top = y + 8
    for row in rows:
        if row.traffic != before:
            y += ROW // 2
            parts.append(text(16, y + ROW, row.traffic, 'strong'))
            before = row.traffic
        y += ROW
        parts += [text(NAME, y, row.algorithm, 'value'),
                  bar(y, row.admitted, ADMITTED, f'{row.admitted:.2f}%',
                      row.algorithm),
                  bar(y, row.rejected, REJECTED, f'{row.rejected:.2f}%',
                      row.algorithm),
                  bar(y, row.most, MOST, f'{row.most:.2f}', row.algorithm)]

    one = MOST[1] + MOST[2] / MOST[3]
    parts.insert(0, line(one, top, one, y + 6, 'one'))
    parts += [line(x, top, x, y + 6, 'axis')
              for _, x, _, _ in (ADMITTED, REJECTED, MOST)]
    y += 24
    parts.append(text(16, y, f'Limit {limit}. log is exact: nothing is admitted'
                      ' or rejected wrongly, and no window has more than the'
                      ' limit.', 'small soft'))

    return picture(
        WIDTH, y + 14, 'How far the algorithms are from the exact log',
        'Bars for counter, fixed and strict under seven kinds of traffic: the'
        ' share of requests admitted although the limit was used up, the share'
        ' rejected although there was room, and the most that was admitted in'
        ' any rolling window. docs/algorithms.md has the figures as a table.',
        parts, STYLE)


def read(page):
    """The table of one limit, as bench/accuracy prints it."""
    table = re.search(r'^\| limit ([\d,]+) \| algorithm \|.*\n\|[-:| ]+\n'
                      r'((?:\|.*\n)+)', page, re.M)
    limit = table[1]
    rows = []
    for row in table[2].splitlines():
        cells = [cell.strip(' `') for cell in row.strip('|').split('|')]
        rows.append(Row(cells[0], cells[1], float(cells[2].rstrip('%')),
                        float(cells[3].rstrip('%')),
                        int(cells[5]) / int(limit.replace(',', ''))))
    return limit, rows
