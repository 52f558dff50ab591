"""The path of a request through the module."""

from flow import STYLE, arrow, box, heads
from svg import picture, text, texts

WIDTH, HEIGHT = 880, 846
LEFT, RIGHT, WIDE = 250, 630, 380          # the steps
MIDDLE = (LEFT + RIGHT) / 2
REJECTS, PASSES = 120, 760                 # the ways around

HIGH, STEP = 50, 70

# title, line, colour
STEPS = (
    ('Access phase', 'before allow, deny, auth_basic and auth_request', 'box'),
    ('Key, rate and cost', 'read from their variables, for each limit', 'box'),
    ('Deny cache', 'has Redis just rejected this client?', 'blue'),
    ('Shared memory zones', 'check and count, under the locks of the zones',
     'blue'),
    ('Lease', 'are there units that this machine prefetched?', 'blue'),
    ('Batch', 'checks of the same key wait, and travel together', 'blue'),
    ('Redis', 'one script checks and counts: all limits or none', 'amber'),
)
ACCESS, KEY, DENY, SHM, LEASE, BATCH, REDIS = range(len(STEPS))


def top(step):
    return 64 + STEP * step


def centre(step):
    return top(step) + HIGH / 2


def draw():
    parts = [*heads(),
             texts(24, 34, ('The path of a request', 'title'),
                   ('beside the arrows: $slidewin_source', 'soft'))]

    for step, (title, words, kind) in enumerate(STEPS):
        parts.append(box(LEFT, top(step), WIDE, HIGH, title, words, kind=kind))
        parts.append(arrow((MIDDLE, top(step) + HIGH),
                           (MIDDLE, top(step + 1) - 1)))

    verdict = top(len(STEPS))
    outcome = verdict + 64
    answer = outcome + 94

    # an exempt request
    parts += [
        arrow((RIGHT, centre(KEY)), (PASSES - 76, centre(KEY)),
              kind='arrow-green'),
        box(PASSES - 75, top(KEY) - 3, 171, HIGH + 6, 'BYPASSED',
            'empty key, or if= is 0', kind='green')]

    # rejections
    for step, source in (DENY, 'deny_cache'), (SHM, 'local'), (REDIS, 'redis'):
        parts += [arrow((LEFT, centre(step)), (REJECTS, centre(step)),
                        kind='arrow-red', head=False),
                  text(LEFT - 8, centre(step) - 7, source, 'code end')]
    parts += [arrow((REJECTS, centre(DENY)), (REJECTS, outcome - 1),
                    kind='arrow-red'),
              text(REJECTS - 10, centre(DENY) + 30, 'over', 'small soft end'),
              text(REJECTS - 10, centre(DENY) + 45, 'the limit',
                   'small soft end')]

    # a lease, and a Redis that does not answer
    parts += [
        arrow((RIGHT, centre(LEASE)), (PASSES, centre(LEASE)),
              (PASSES, verdict + 20), (RIGHT + 1, verdict + 20),
              kind='arrow-green'),
        text(RIGHT + 8, centre(LEASE) - 7, 'lease', 'code'),
        text(PASSES + 10, centre(LEASE) + 16, 'admitted,', 'small soft'),
        text(PASSES + 10, centre(LEASE) + 31, 'no round trip', 'small soft'),
        arrow((RIGHT, centre(REDIS) - 8), (RIGHT + 24, centre(REDIS) - 8),
              (RIGHT + 24, verdict + 8), (RIGHT + 1, verdict + 8),
              kind='arrow-amber'),
        text(RIGHT + 32, centre(REDIS) - 28, 'no answer:', 'small soft'),
        text(RIGHT + 32, centre(REDIS) - 13, 'on_error=', 'small soft'),
        text(RIGHT + 32, centre(REDIS) + 4, 'fallback', 'code'),
        text(RIGHT + 32, centre(REDIS) + 20, 'fail_open', 'code'),
        text(RIGHT + 32, centre(REDIS) + 36, 'fail_closed', 'code')]

    parts += [
        box(LEFT, verdict, WIDE, 40, 'Verdict: all limits admit, or none is'
            ' charged'),
        box(24, outcome, 262, 62, 'REJECTED', '429, Retry-After,',
            'Cache-Control: no-store', kind='red'),
        box(310, outcome, 260, 62, 'DELAYED, with delay=',
            'waits until there is room,', 'then asks again', kind='amber'),
        box(594, outcome, 262, 62, 'PASSED', 'auth, then the content handler',
            'or the upstream', kind='green'),
        arrow((MIDDLE, verdict + 40), (MIDDLE, outcome - 1),
              kind='arrow-amber'),
        arrow((LEFT + 30, verdict + 40), (LEFT + 30, outcome - 12),
              (200, outcome - 12), (200, outcome - 1), kind='arrow-red'),
        arrow((RIGHT - 30, verdict + 40), (RIGHT - 30, outcome - 12),
              (725, outcome - 12), (725, outcome - 1), kind='arrow-green'),
        arrow((570, outcome + 31), (593, outcome + 31), kind='arrow-green'),
        arrow((310, outcome + 31), (287, outcome + 31), kind='arrow-red'),
        arrow((155, outcome + 62), (155, answer - 1)),
        arrow((725, outcome + 62), (725, answer - 1)),
        box(24, answer, 832, 40, 'Answer: Retry-After on rejections, RateLimit'
            ' fields as slidewin_headers says'),
        arrow((MIDDLE, answer + 40), (MIDDLE, answer + 58)),
        box(24, answer + 59, 832, HIGH, 'Log phase',
            'count= refunds the unit if the status is not listed; reset= clears'
            ' the client if it is; $slidewin_… variables for access_log',
            kind='blue')]

    return picture(
        WIDTH, HEIGHT, 'The path of a request through the module',
        'In the access phase the module reads key, rate and cost of each limit.'
        ' An empty key or if= with 0 exempts the request. Then it asks the deny'
        ' cache, the shared memory zones, a lease, and Redis through a batch of'
        ' checks of the same key. Each of them but the lease may reject; if'
        ' Redis does not answer, on_error decides. All limits admit or none is'
        ' charged. A request passes, is delayed or is rejected with 429 and'
        ' Retry-After. In the log phase count= refunds units and reset= clears'
        ' the client.', parts, STYLE)
