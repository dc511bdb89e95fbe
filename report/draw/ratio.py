"""A member's time relative to the baseline's, repetition by repetition."""

import math

from . import apart, curves, rows, times
from .. import stats, words

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
    return "%s = 1%s" % (name, experiment.explained(name)[len(name):])


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
            "better" % (times.extent(experiment), experiment.baseline)]


def draw(experiment, title):
    found = rows.ends(experiment, value_of) or (1, 1)
    factor = max(1.15, 1 / found[0] * 1.08, found[1] * 1.08)
    low, high = max(1 / factor, found[0] / 1.15), min(factor, found[1] * 1.15)
    low, high = min(low, 0.87), max(high, 1.15)
    what = words.quantity(experiment.contests[0].column())
    scale = rows.Scale("%s / %s of %s" % (what, what, experiment.baseline), True, (low, high),
                       ticks(low, high), words.ratio, line=1,
                       line_label=line_label(experiment), tick_text=lambda value: "%g" % value)
    return (curves if experiment.is_curve else rows).draw(experiment, title, scale, value_of, band)


def sentence(experiment):
    """Of each member, and of each MPI where there are several, the geometric mean and the worst row."""
    if experiment.name == "aa":
        return of_the_same(experiment)
    if len(experiment.mpis) < 2:
        return words.listing(parts_of(experiment, None, experiment.baseline)) + "."
    found = []
    for mpi in experiment.mpis:
        found += parts_of(experiment, mpi, words.without_version(mpi) if experiment.baseline == "mpi" else
                          "%s (%s)" % (experiment.baseline, words.without_version(mpi)))
    return words.listing(found) + "." if found else "Nothing was compared."


def of_the_same(experiment):
    """How far A/A is apart: the question of that scenario."""
    values = [contest.aa for contest in experiment.contests if contest.aa is not None]
    widths = [value.high - value.low for value in values if value.has_interval]
    if not widths:
        return "Nothing was measured twice."
    return "%s measured twice takes %.2f to %.2f of its time; the intervals are up to %.0f %% wide." % (
        experiment.contests[0].twin().name, min(value.value for value in values), max(value.value for value in values),
        100 * max(widths))


def short(experiment):
    """For the headline: how it begins, what it says of each member (of several MPIs, beside each), how it ends."""
    if experiment.name == "aa":
        return None
    baseline, names = experiment.compared
    is_alone = len(experiment.mpis) > 1 and len(names) == 1  # then it is named once
    parts = []
    for name in names:
        for mpi in experiment.mpis if len(experiment.mpis) > 1 else [None]:
            found = [(contest, contest.ratio(member, baseline)) for contest, member in experiment.decided(name, baseline)
                     if mpi in (None, contest.head["mpi"])]
            found = [(contest, value.value) for contest, value in found if value is not None]
            if found:
                who = words.without_version(mpi) if is_alone else "%s beside %s" % (name, words.without_version(mpi)) if mpi else name
                parts.append("%s %s" % (who, apart.text(
                    experiment, found, apart.times_agree,
                    lambda least, most: words.between(least, most, words.ratio), has_mpis=False)))
    what = words.quantity(experiment.contests[0].column())
    return "%s%s relative to that of %s: " % (names[0] + "'s " if is_alone else "", what, baseline), parts, "."


def parts_of(experiment, mpi, baseline):
    """Of one MPI's rows, or of all (None)."""
    parts = []
    for name in experiment.members:
        ratios = [(contest.ratio(member), contest.aa) for contest, member in experiment.decided(name)
                  if member is not contest.baseline and mpi in (None, contest.head["mpi"])]
        ratios = [(value, aa) for value, aa in ratios if value is not None]
        if not ratios:
            continue
        less, more = (sum(stats.is_clear(value, aa) and (value.value < 1) == is_less for value, aa in ratios)
                      for is_less in (True, False))
        values = [value.value for value, _ in ratios]
        worst = ", at worst %.2f" % max(values) if len(values) > 1 else ""
        parts.append("%s takes %s %s's time%s (%s)" % (
            name, words.factor(stats.geometric_mean(values)), baseline, worst,
            times.clearly(less, more, len(ratios), ("faster", "slower"))))
    return parts or ["nothing was compared"]
