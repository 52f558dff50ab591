"""Draws a run of the bench as an SVG, as tools/pictures draws that of
docs/performance.md."""

import pathlib
import sys

from stats import median, of, ratios, values
from variants import SCENARIOS, VARIANTS

sys.path.append(str(pathlib.Path(__file__).parents[1] / 'tools' / 'pictures'))

from speed import Limiter, Traffic, draw        # noqa: E402


def limiters(rows, scenario):
    for variant in VARIANTS:
        mine = {'scenario': scenario.name, 'variant': variant.name}
        base = {'scenario': scenario.name, 'variant': variant.baseline}
        if mine != base and of(rows, **mine):
            yield Limiter(variant.title.replace('`', ''),
                          median(ratios(rows, 'rps', mine, base)),
                          median(ratios(rows, 'cpu', mine, base)),
                          median(values(rows, 'redis_calls', **mine))
                          if variant.redis else None)


def chart(results):
    return draw([
        Traffic(scenario.title,
                'return 429' if scenario.path == '/reject' else 'no limiter',
                list(limiters(results['limiters'], scenario)))
        for scenario in SCENARIOS])
