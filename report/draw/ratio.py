"""A member's time relative to the baseline's, repetition by repetition."""

import math

from . import curves, rows, times
from .. import words

HOW = "Left of the line at 1 is faster, right of it slower."
TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.7, 0.8, 0.9, 0.95,
         1, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def value_of(contest, member):
    return None if member is contest.baseline else contest.ratio(member)


def band(contest):
    """Round the ratio of the member that was measured twice: as far as it is from itself."""
    if contest.aa is None or not contest.aa.has_interval:
        return None
    twin = contest.twin()
    value = contest.ratio(twin)  # (1, of the baseline)
    return (value.value * min(contest.aa.low, 1), value.value * max(contest.aa.high, 1)) if value is not None else None


def line_label(experiment):
    """ "mpi = 1", with what mpi is."""
    name = experiment.baseline
    shown = experiment.shown(name)
    return "%s = 1%s" % (shown, experiment.explained(name)[len(shown):])


def ticks(low, high):
    """At most seven, 1 among them, not too near to each other."""
    chosen = [1]
    least = math.log(high / low) / 7
    for tick in sorted(TICKS, key=lambda tick: abs(math.log(tick))):
        if low <= tick <= high and all(abs(math.log(tick / other)) > least for other in chosen):
            chosen.append(tick)
    return sorted(chosen)


def notes(experiment):
    return ["ratio: the time %s, divided by that of %s, turn by turn, then the median; 0.5 is half the time, so lower is "
            "better" % (times.extent(experiment), experiment.shown(experiment.baseline))]


def draw(experiment, title):
    found = rows.ends(experiment, value_of) or (1, 1)
    factor = max(1.15, 1 / found[0] * 1.08, found[1] * 1.08)
    low, high = max(1 / factor, found[0] / 1.15), min(factor, found[1] * 1.15)
    low, high = min(low, 0.87), max(high, 1.15)
    what = words.quantity(experiment.contests[0].column())
    scale = rows.Scale("%s / %s of %s" % (what, what, experiment.shown(experiment.baseline)), True, (low, high),
                       ticks(low, high), words.ratio, line=1,
                       line_label=line_label(experiment), tick_text=lambda value: "%g" % value)
    return (curves if experiment.is_curve else rows).draw(experiment, title, scale, value_of, band)
