"""report.py RESULTS DIRECTORY: the results of a run as table.md and chart.svg,
and on the terminal with what was to be reached."""

import json
import pathlib
import sys

from callgrind import CASES
from chart import chart
from growth import CLIENTS, POLICIES
from stats import median, of, ratios, values
from targets import targets
from variants import SCENARIOS, VARIANTS


def number(value, digits=2):
    """Thousands by commas; nothing for what was not measured."""
    return '–' if value is None else f'{value:,.{digits}f}'


def table(head, rows):
    lines = [head, ['---'] + ['---:'] * (len(head) - 1), *rows]
    return ''.join('| ' + ' | '.join(line) + ' |\n' for line in lines) + '\n'


def limiters(rows):
    for scenario in SCENARIOS:
        yield table(
            [f'**{scenario.title}**', 'throughput', 'p50 ms', 'p99 ms',
             'worker CPU', 'Redis CPU µs', 'Redis calls'],
            [limiter(rows, scenario, variant) for variant in VARIANTS
             if of(rows, scenario=scenario.name, variant=variant.name)])


def limiter(rows, scenario, variant):
    mine = {'scenario': scenario.name, 'variant': variant.name}
    base = {'scenario': scenario.name, 'variant': variant.baseline}

    def middle(key):
        return median(values(rows, key, **mine))

    title, store = variant.title, ['–', '–']
    if mine == base:
        rps, cpu = f'{middle("rps"):,.0f}/s', f'{middle("cpu"):.1f} µs'
        if scenario.path == '/reject':
            title = title.replace('no limiter', '`return 429`')
    else:
        rps, cpu = (number(median(ratios(rows, key, mine, base)))
                    for key in ('rps', 'cpu'))
    if variant.redis:
        store = [number(middle('redis_cpu'), 1),
                 number(middle('redis_calls'), 3)]

    return [title, rps, number(middle('p50')), number(middle('p99')), cpu,
            *store]


def instructions(rows):
    found = {row['case']: row for row in rows}
    return table(
        ['**instructions of a request**', 'handler', 'all of it',
         'added', 'statistics'],
        [[case.title, number(found[case.name]['handler'], 0),
          number(found[case.name]['whole'], 0),
          number(found[case.name]['whole'] - found[case.baseline]['whole'], 0),
          number(found[case.name]['statistics'], 0)]
         for case in CASES if case.name in found])


def algorithms(results):
    return table(
        ['**a client in Redis**', 'bytes', 'µs a call'],
        [[f'`{row["algorithm"]}`', number(row['bytes'], 0)
          + (f' ({results["entries"]:,} entries)' if row['algorithm'] == 'log'
             else ''), number(median(row['usec']), 1)]
         for row in results['algorithms']])


def clients(rows):
    def cell(key, measured, store, n):
        return number(median(values(rows, key, store=store, clients=n))
                      if key in measured else None, 1)

    return table(
        ['**clients**', 'worker CPU µs', 'Redis CPU µs'],
        [[f'{title}, {n:,}', *(cell(key, measured, store, n)
                               for key in ('cpu', 'redis_cpu'))]
         for store, title, *measured in (
             ('limit_req', '`limit_req`', 'cpu'),
             ('local', 'slidewin, shared memory', 'cpu'),
             ('redis', 'slidewin, Redis', 'cpu', 'redis_cpu'),
             ('plain', 'Redis alone, `GETEX` of the same keys', 'redis_cpu'))
         for n in CLIENTS])


def policies(rows):
    def middle(key, n, digits=1):
        return number(median(values(rows, key, policies=n)), digits)

    return table(
        ['**policies, in Redis**', 'worker CPU µs', 'Redis CPU µs',
         'Redis calls'],
        [[str(n), middle('cpu', n), middle('redis_cpu', n),
          middle('calls', n, 3)] for n in POLICIES])


def replayed(results):
    """One log by each program."""
    runs = results['runs']
    return table(
        [f'**a log of {results["lines"]:,} lines**', 'seconds',
         'CPU seconds', 'lines a CPU second', 'MB of memory'],
        [[title, number(median(values(runs, 'seconds', tool=tool)), 1),
          number(cpu, 1), number(results['lines'] / cpu, 0),
          number(median(values(runs, 'memory', tool=tool)) / 1e6, 1)]
         for tool, title in (
             ('plain', '`slidewin-replay`'),
             ('gzip', '`slidewin-replay`, compressed'),
             ('zcat', '`zcat` alone, compressed'),
             ('goaccess', '`goaccess`'))
         if (cpu := median(values(runs, 'cpu', tool=tool)))])


def shape(results):
    machine = results['machine']
    return (f'{machine["cores"]} cores ({machine["cpu"]}), {machine["memory"]}'
            f' GB, Linux {machine["kernel"]}; nginx {machine["nginx"]}, Redis'
            f' {machine["redis"]}, HAProxy {machine["haproxy"]}, GoAccess'
            f' {machine["goaccess"]}. wrk, one'
            ' worker and Redis share the cores; 64 connections; medians of'
            f' {results["rounds"]} interleaved rounds of {results["seconds"]}'
            ' s. Throughput and worker CPU of a request are ratios to the same'
            ' server without a limiter, or with a bare 429.\n\n')


def single(results):
    none, redis, bare = (1000 * median(values(results['latency'], key))
                         for key in ('none', 'redis', 'bare'))
    return (f'A client of a `counter` takes {results["resident"]:.0f} bytes of'
            ' Redis with its entries in the tables of keys and of expiry, and'
            f' {results["zone"]:.0f} bytes of a zone of shared memory.\n\n'
            'One client on one connection, with nginx on one core and the'
            f' client and Redis on another, waits {none:.0f} µs without a'
            f' limiter and {redis:.0f} µs with a check in Redis; a bare round'
            f' trip of the same command takes {bare:.0f} µs.\n')


def markdown(results):
    return ''.join([
        shape(results), *limiters(results['limiters']),
        instructions(results['instructions']), algorithms(results),
        clients(results['clients']), policies(results['policies']),
        single(results), '\n', replayed(results['replay'])])


def verdicts(results):
    lines = []
    for target in targets(results):
        sign = '≥' if target.at_least else '≤'
        digits = target.digits
        spread = ''
        if len(target.figures) > 1:
            spread = (f'{min(target.figures):,.{digits}f} –'
                      f' {max(target.figures):,.{digits}f}')
        figure = number(target.figure, digits)
        lines.append(f'{target.verdict:<13} {target.text:<62} {figure:>9}'
                     f' {sign} {target.bound:<6} {spread}'.rstrip() + '\n')
    return ''.join(lines)


def main(results_path, directory):
    results = json.loads(pathlib.Path(results_path).read_text())
    directory = pathlib.Path(directory)
    tables = markdown(results)

    (directory / 'table.md').write_text(tables)
    (directory / 'chart.svg').write_text(chart(results))
    print(tables)
    print(verdicts(results))
    print(f'{directory}/table.md\n{directory}/chart.svg')


if __name__ == '__main__':
    main(*sys.argv[1:])
