"""The limiters as an SVG: for each kind of traffic a bar for the throughput and
one for the CPU of the worker, both as ratios to the same server without a
limiter."""

from xml.sax.saxutils import escape

from stats import median, of, ratios, values
from variants import SCENARIOS, VARIANTS

WIDTH = 880
ROW = 22
THROUGHPUT, CPU, CALLS = 250, 560, 800      # where the columns begin
# the length of 1, and the value of the longest bar
THROUGHPUT_SCALE = 200, 1.3
CPU_SCALE = 44, 4.5

STYLE = '''
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; }
.small { font-size: 11px; fill: #57606a; }
.value { font-size: 11px; paint-order: stroke; stroke: #fff; stroke-width: 3; }
.one { stroke: #57606a; stroke-dasharray: 3 3; }
.ours { fill: #1f6feb; }
.others { fill: #afb8c1; }
'''


def text(x, y, words, kind=''):
    kind = f' class="{kind}"' if kind else ''
    return f'<text x="{x}" y="{y}"{kind}>{escape(words)}</text>'


def bar(x, y, value, scale, kind):
    unit, most = scale
    length = unit * min(value, most)
    return (f'<rect x="{x}" y="{y - 12}" width="{length:.1f}" height="15"'
            f' class="{kind}"/>'
            + text(f'{x + length + 5:.1f}', y, f'{value:.2f}', 'value'))


def limiters(rows, scenario):
    """Of each: title, kind, throughput, CPU, Redis calls."""
    for variant in VARIANTS:
        mine = {'scenario': scenario.name, 'variant': variant.name}
        base = {'scenario': scenario.name, 'variant': variant.baseline}
        if mine != base and of(rows, **mine):
            yield (variant.title.replace('`', ''),
                   'ours' if variant.title.startswith('slidewin')
                   else 'others',
                   median(ratios(rows, 'rps', mine, base)),
                   median(ratios(rows, 'cpu', mine, base)),
                   median(values(rows, 'redis_calls', **mine))
                   if variant.redis else None)


def chart(results):
    rows = results['limiters']
    parts, y = [], 12

    for scenario in SCENARIOS:
        base = 'return 429' if scenario.path == '/reject' else 'no limiter'
        y += ROW
        parts += [text(16, y, scenario.title, 'title'),
                  text(THROUGHPUT, y + ROW, f'throughput, {base} = 1', 'small'),
                  text(CPU, y + ROW, f'worker CPU, {base} = 1', 'small'),
                  text(CALLS, y + ROW, 'Redis calls', 'small')]
        y += ROW
        bars = list(limiters(rows, scenario))

        for x in THROUGHPUT + THROUGHPUT_SCALE[0], CPU + CPU_SCALE[0]:
            parts.append(f'<line x1="{x}" x2="{x}" y1="{y + 6}"'
                         f' y2="{y + 6 + ROW * len(bars)}" class="one"/>')

        for title, kind, rps, cpu, calls in bars:
            y += ROW
            parts += [text(16, y, title),
                      bar(THROUGHPUT, y, rps, THROUGHPUT_SCALE, kind),
                      bar(CPU, y, cpu, CPU_SCALE, kind)]
            if calls is not None:
                parts.append(text(CALLS, y, f'{calls:.3f}', 'small'))
        y += ROW

    return '\n'.join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}"'
        f' height="{y}" viewBox="0 0 {WIDTH} {y}">',
        f'<style>{STYLE}</style>',
        f'<rect width="{WIDTH}" height="{y}" rx="6" fill="#ffffff"/>',
        *parts, '</svg>', ''])
