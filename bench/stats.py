"""Rounds: medians, and ratios of what was measured in the same round."""

import statistics


def of(rows, **wanted):
    return [row for row in rows
            if all(row[key] == value for key, value in wanted.items())]


def values(rows, key, **wanted):
    return [row[key] for row in of(rows, **wanted)]


def ratios(rows, key, above, below):
    """Round by round: what slows the whole machine for a while slows both."""
    below = {row['round']: row[key] for row in of(rows, **below)}
    return [row[key] / below[row['round']] for row in of(rows, **above)
            if row['round'] in below]


def median(figures):
    """None if nothing was measured."""
    return statistics.median(figures) if figures else None
