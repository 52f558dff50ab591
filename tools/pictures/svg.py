"""What the pictures have in common: a page that is light or dark as the reader
has it, and the shapes on it. All text is where it is told to be: a viewer's
font may be wider than another's, so leave room."""

from xml.sax.saxutils import escape

# name: light, dark
COLOURS = {
    'page': ('#ffffff', '#0d1117'),
    'edge': ('#d1d9e0', '#3d444d'),
    'text': ('#1f2328', '#e6edf3'),
    'soft': ('#59636e', '#9da7b1'),
    'faint': ('#eff2f5', '#1a2029'),
    'grey': ('#afb8c1', '#525b66'),
    'blue': ('#0969da', '#58a6ff'),
    'blue-back': ('#ddf4ff', '#102a4c'),
    'red': ('#cf222e', '#ff7b72'),
    'red-back': ('#ffebe9', '#45171a'),
    'green': ('#1a7f37', '#3fb950'),
    'green-back': ('#dafbe1', '#10301a'),
    'amber': ('#9a6700', '#e3b341'),
    'amber-back': ('#fff8c5', '#3a2d0a'),
}

COMMON = '''
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--text); }
.code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 12px; }
.title { font-size: 17px; font-weight: 600; }
.strong { font-weight: 600; }
.soft { fill: var(--soft); }
.small { font-size: 11px; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
'''


def style(more=''):
    def variables(which):
        return ' '.join(f'--{name}: {pair[which]};'
                        for name, pair in COLOURS.items())

    return (f'<style>\n:root {{ color-scheme: light dark; {variables(0)} }}\n'
            '@media (prefers-color-scheme: dark) {\n'
            f':root {{ {variables(1)} }}\n}}'
            f'{COMMON}{more}</style>')


def picture(width, height, title, description, parts, more=''):
    """The text of an SVG; title and description are for screen readers."""
    return '\n'.join([
        '<svg xmlns="http://www.w3.org/2000/svg" role="img"'
        ' aria-labelledby="title desc"'
        f' width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(description)}</desc>',
        style(more),
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}"'
        ' rx="8" style="fill: var(--page); stroke: var(--edge)"/>',
        *parts, '</svg>', ''])


def number(value):
    """At most two digits behind the point, none that are not needed."""
    return f'{value:.2f}'.rstrip('0').rstrip('.')


def text(x, y, words, kind=''):
    kind = f' class="{kind}"' if kind else ''
    return f'<text x="{number(x)}" y="{number(y)}"{kind}>{escape(words)}</text>'


def texts(x, y, *pieces):
    """Pieces (words, kind) one behind the other, as wide as the font makes
    them."""
    spans = ''.join(
        f'<tspan{" dx=" + chr(34) + "10" + chr(34) if at else ""}'
        f' class="{kind}">{escape(words)}</tspan>'
        for at, (words, kind) in enumerate(pieces))
    return f'<text x="{number(x)}" y="{number(y)}">{spans}</text>'


def rect(x, y, width, height, kind, radius=0):
    radius = f' rx="{radius}"' if radius else ''
    return (f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}"'
            f' height="{number(height)}"{radius} class="{kind}"/>')


def line(x1, y1, x2, y2, kind):
    return (f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}"'
            f' y2="{number(y2)}" class="{kind}"/>')


def path(points, kind, closed=False):
    """Straight lines through the points, without those in the middle of one."""
    kept = []
    for point in points:
        while len(kept) > 1 and between(*kept[-2:], point):
            kept.pop()
        if not kept or kept[-1] != point:
            kept.append(point)
    steps = ' '.join(f'{number(x)},{number(y)}' for x, y in kept)
    return f'<path d="M{steps}{" Z" if closed else ""}" class="{kind}"/>'


def between(first, middle, last):
    (x1, y1), (x2, y2), (x3, y3) = first, middle, last
    return (abs((x2 - x1) * (y3 - y1) - (x3 - x1) * (y2 - y1)) < 1e-6
            and min(x1, x3) <= x2 <= max(x1, x3)
            and min(y1, y3) <= y2 <= max(y1, y3))
