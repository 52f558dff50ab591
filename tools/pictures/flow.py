"""Boxes, and arrows between them."""

from svg import number, rect, text

STYLE = '''
.box { fill: var(--faint); stroke: var(--edge); }
.blue { fill: var(--blue-back); stroke: var(--blue); }
.amber { fill: var(--amber-back); stroke: var(--amber); }
.red { fill: var(--red-back); stroke: var(--red); }
.green { fill: var(--green-back); stroke: var(--green); }
.arrow { fill: none; stroke: var(--soft); stroke-width: 1.5; }
.arrow-red { fill: none; stroke: var(--red); stroke-width: 1.5; }
.arrow-green { fill: none; stroke: var(--green); stroke-width: 1.5; }
.arrow-amber { fill: none; stroke: var(--amber); stroke-width: 1.5; }
'''

HEADS = {'arrow': 'soft', 'arrow-red': 'red', 'arrow-green': 'green',
         'arrow-amber': 'amber'}


def heads():
    """What arrow() refers to; once in a picture."""
    return ['<defs>', *(
        f'<marker id="{kind}" viewBox="0 0 8 8" refX="7" refY="4"'
        ' markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 Z" style="fill: var(--{colour})"/></marker>'
        for kind, colour in HEADS.items()), '</defs>']


def box(x, y, width, height, title, *lines, kind='box', code=()):
    """A title and lines below it, in the middle; those in CODE as code."""
    middle = x + width / 2
    at = y + (height - 17 * len(lines) - 5) / 2 + 10
    parts = [rect(x, y, width, height, kind, 7),
             text(middle, at, title, 'strong middle')]
    for words in lines:
        at += 17
        parts.append(text(middle, at, words,
                          'code middle' if words in code
                          else 'small soft middle'))
    return ''.join(parts)


def arrow(*points, kind='arrow', head=True):
    steps = ' '.join(f'{number(x)},{number(y)}' for x, y in points)
    head = f' marker-end="url(#{kind})"' if head else ''
    return f'<path d="M{steps}" class="{kind}"{head}/>'
