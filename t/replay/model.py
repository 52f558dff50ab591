"""model.py < JSON: decides requests as the contract says, written once more.

For each {limit, window, algorithm, slices, count, ban, lines} of a list, where a
line is [ms, key, cost, status], a line of decisions.  A client is the list of
what it was charged.  Nothing is clever on purpose."""

import json
import sys


def weight(rule, then, now):
    """How much of a unit that was counted then counts now: parts of a window."""
    window, slices = rule['window'], rule.get('slices') or 16
    if rule['algorithm'] == 'log':
        return window * (now - window < then)
    if rule['algorithm'] == 'fixed':
        return window * (then // window == now // window)
    if rule['algorithm'] == 'strict':
        first = now * slices // window - slices
        return window * (then * slices // window >= first)
    age = now // window - then // window
    return (window, window - now % window, 0)[min(age, 2)]


def decide(rule, client, now, cost, status):
    if now < client['until']:
        return 'BANNED'
    client['charged'] = [(weight(rule, then, now), then, units)
                         for _, then, units in client['charged']
                         if weight(rule, then, now)]
    used = sum(part * units for part, _, units in client['charged'])
    if cost and used + cost * rule['window'] > rule['limit'] * rule['window']:
        if rule.get('ban'):
            first, most = rule['ban']
            follows = client['ban'] and now - client['until'] <= most
            client['ban'] = min(2 * client['ban'], most) if follows else first
            client['until'] = now + client['ban']
        return 'REJECTED'
    count = rule.get('count') or [str(status)]
    if str(status) in count or f'{status // 100}xx' in count:
        client['charged'].append((None, now, cost))
    return 'PASSED'


for question in json.load(sys.stdin):
    clients = {}
    for time, key, *line in question['lines']:
        clients.setdefault(key, {'charged': [], 'until': 0, 'ban': 0})
        print(decide(question, clients[key], time, *line), end=' ')
    print()
