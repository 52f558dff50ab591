"""The limiters as an SVG: for each kind of traffic a bar for the throughput and
one for the CPU of the worker, both as ratios to the same server without a
limiter."""

from xml.sax.saxutils import escape

from stats import median, of, ratios, values
from variants import SCENARIOS, VARIANTS

WIDTH = 860
LABEL = 250                 # where the bars of the throughput begin
CPU = 560                   # and those of the CPU
ROW, TITLE = 22, 44
FULL = 200                  # a throughput of 1
CPU_FULL = 60               # a CPU time of 1

STYLE = '''
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; }
.small { font-size: 11px; fill: #57606a; }
.one { stroke: #57606a; stroke-dasharray: 3 3; }
.ours { fill: #1f6feb; }
.others { fill: #afb8c1; }
'''


def text(x, y, words, kind=''):
    kind = f' class="{kind}"' if kind else ''
    return f'<text x="{x}" y="{y}"{kind}>{escape(words)}</text>'


def bar(x, y, length, value, kind):
    return (f'<rect x="{x}" y="{y - 12}" width="{max(length, 1):.1f}"'
            f' height="15" class="{kind}"/>'
            + text(f'{x + length + 5:.1f}', y, f'{value:.2f}', 'small'))


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
                   median(values(rows, 'redis_calls', **mine)))


def chart(results):
    rows = results['limiters']
    parts, y = [], 10

    for scenario in SCENARIOS:
        bars = list(limiters(rows, scenario))
        if not bars:
            continue

        y += 22
        base = 'return 429' if scenario.path == '/reject' else 'no limiter'
        parts.append(text(16, y, scenario.title, 'title'))
        parts.append(text(LABEL, y, f'throughput ({base} = 1)', 'small'))
        parts.append(text(CPU, y, f'worker CPU ({base} = 1)', 'small'))
        parts.append(text(WIDTH - 80, y, 'Redis calls', 'small'))
        top = y + 6

        for title, kind, rps, cpu, calls in bars:
            y += ROW
            parts.append(text(16, y, title))
            parts.append(bar(LABEL, y, rps * FULL, rps, kind))
            parts.append(bar(CPU, y, min(cpu, 3) * CPU_FULL, cpu, kind))
            if calls:
                parts.append(text(WIDTH - 80, y, f'{calls:.3f}', 'small'))

        for x in LABEL + FULL, CPU + CPU_FULL:
            parts.append(f'<line x1="{x}" x2="{x}" y1="{top}" y2="{y + 6}"'
                         ' class="one"/>')
        y += TITLE - ROW

    return '\n'.join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}"'
        f' height="{y}" viewBox="0 0 {WIDTH} {y}">',
        f'<style>{STYLE}</style>',
        f'<rect width="{WIDTH}" height="{y}" rx="6" fill="#ffffff"/>',
        *parts, '</svg>', ''])
