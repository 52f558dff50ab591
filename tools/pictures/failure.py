"""The ladder when Redis fails: down step by step, and back."""

from flow import STYLE, arrow, box, heads
from svg import picture, text

WIDTH, HEIGHT = 880, 776
LEFT, WIDE, HIGH = 56, 420, 64             # the steps
MIDDLE = LEFT + WIDE / 2
LOG = 508                                  # where the log lines begin
THIRD = 134

DECIDES, LATE, OPEN, ON_ERROR, PROBE, BACK = 64, 166, 268, 362, 520, 624

CHOICES = (
    # on_error=, words, $slidewin_source, colour
    ('local', ('counts in shared', 'memory, with its', 'share of the limit'),
     'fallback', 'blue'),
    ('open', ('the request passes,', 'no limit counts it:', 'ERROR_PASSED'),
     'fail_open', 'box'),
    ('closed', ('the request is', 'rejected with 503:', 'ERROR_REJECTED'),
     'fail_closed', 'box'),
)


def log(y, *lines):
    """One that goes on in the next begins with a space there."""
    return [text(LOG + (14 if words.startswith(' ') else 0), y + 17 * at,
                 words.strip(), 'code') for at, words in enumerate(lines)]


def step(y, *words, kind):
    return box(LEFT, y, WIDE, HIGH, *words, kind=kind)


def down(y, until, kind, *words):
    return [arrow((MIDDLE, y), (MIDDLE, until - 1), kind=kind),
            *(text(MIDDLE + 12, (y + until) / 2 + 4 + 14 * at, line,
                   'small soft') for at, line in enumerate(words))]


def choices():
    parts = []
    for at, (name, words, source, kind) in enumerate(CHOICES):
        x = LEFT + at * (WIDE - THIRD) / 2
        parts += [
            arrow((x + THIRD / 2, OPEN + HIGH), (x + THIRD / 2, ON_ERROR - 1)),
            box(x, ON_ERROR, THIRD, 104, f'on_error={name}', *words, source,
                kind=kind, code=(source,))]
    return parts


def draw():
    parts = [
        *heads(),
        text(LEFT, 34, 'When Redis fails', 'title'),
        text(LOG, 34, 'what the error log says', 'strong'),

        step(DECIDES, 'Redis decides',
             'a check has a deadline: timeout= (50ms),',
             'a connection as well: connect_timeout= (250ms)', kind='green'),
        *down(DECIDES + HIGH, LATE, 'arrow-amber',
              'an error, or no answer in time'),

        step(LATE, 'on_error decides this check',
             'a check that may have run is never sent again;',
             'if the connection is lost, all checks in flight fail at once',
             kind='amber'),
        *log(LATE + 6, 'slidewin redis … is lost: no answer within',
             ' the timeout',
             'slidewin zone "…": requests are counted by',
             ' this machine alone, its store does not', ' decide them'),
        *down(LATE + HIGH, OPEN, 'arrow-red',
              'five in a row, or no connection'),

        step(OPEN, 'Redis is not asked: the breaker is open',
             'or there is no connection. No request waits,',
             'on_error decides at once', kind='red'),
        *log(OPEN + 12, 'slidewin redis … is not asked for a while,',
             ' it failed 5 times in a row: "…"',
             'slidewin redis … cannot be reached: …'),

        *choices(),
        *log(ON_ERROR + 22, 'slidewin zone "…": 812 requests were counted',
             ' by this machine alone in the last 60s, its',
             ' store did not decide them; 4023 since it', ' began 300s ago'),
        text(LOG, ON_ERROR + 94, 'once a minute, in each worker',
             'small soft'),

        *down(ON_ERROR + 104, PROBE, 'arrow',
              'after a pause that grows: 50 ms up to 2 s,',
              'of a connection up to 5 s'),
        step(PROBE, 'Probe: one check at a time asks Redis',
             'the other requests do not wait for it,',
             'on_error decides them', kind='amber'),
        arrow((LEFT, PROBE + HIGH / 2), (LEFT - 24, PROBE + HIGH / 2),
              (LEFT - 24, OPEN + HIGH / 2), (LEFT - 1, OPEN + HIGH / 2),
              kind='arrow-red'),
        '<g transform="rotate(-90)">'
        + text(-(OPEN + PROBE + HIGH) / 2, LEFT - 30, 'it fails again',
               'small soft middle') + '</g>',

        *down(PROBE + HIGH, BACK, 'arrow-green', 'it is answered'),
        step(BACK, 'Redis decides again',
             'what shared memory counted meanwhile stays there',
             'until it expires, and is not added in Redis', kind='green'),
        *log(BACK + 6, 'slidewin redis … is asked again',
             'slidewin redis … is back',
             'slidewin zone "…": its store decides again,',
             ' 4023 requests were counted by this machine', ' alone in 312s'),

        text(LEFT, BACK + HIGH + 44, 'Too many requests at once are no failure:'
             ' they wait in a queue, and get 503 after timeout=. That neither opens'
             ' the', 'soft'),
        text(LEFT, BACK + HIGH + 63, 'breaker nor selects on_error, so that no'
             ' client can switch a limit off.', 'soft')]

    return picture(
        WIDTH, HEIGHT, 'What happens when Redis fails',
        'A ladder. Redis decides, within a deadline. A check that fails or is'
        ' late is decided by on_error: local counts in shared memory, open'
        ' passes the request uncounted, closed rejects it with 503. After five'
        ' failures in a row, or without a connection, Redis is not asked and no'
        ' request waits. After a growing pause one check at a time probes'
        ' Redis. When one is answered, Redis decides again. Each step has its'
        ' lines in the error log.', parts, STYLE)
