"""How much of an operation is hidden behind the computation that runs beside it."""

import statistics

from . import apart, curves, rows, times
from .. import stats, words

HOW = ("100 %: the operation costs no time beside the computation; 0 %: as long as one after the other; below 0: "
       "overlapping lost time.")
LOWEST = -100          # where only intervals are below, a triangle at the edge stands for them
MEDIANS = (-300, 200)  # beyond are no measurements of overlap: only the number stands beside such a row


def value_of(contest, member):
    return contest.hidden(member)


def band(contest):
    """What the same hides when it is measured twice: both intervals."""
    if contest.again is None:
        return None
    both = [contest.hidden(contest.again), contest.hidden(contest.twin())]
    if not all(value is not None and value.has_interval for value in both):
        return None
    return min(value.low for value in both), max(value.high for value in both)


def notes(experiment):
    return ["hidden: the part of the operation's time that the computation beside it did not pay for: (computation alone "
            "+ operation alone - the two together) / the shorter of these two, each of the slowest rank. 100 %: the "
            "operation is free; 0 %: as long as one after the other; higher is better"]


def draw(experiment, title):
    ends = rows.ends(experiment, value_of) or (0, 100)
    middles = [value for value in rows.middles(experiment, value_of) if MEDIANS[0] <= value <= MEDIANS[1]] or [0]
    low = min(-5, max(LOWEST, ends[0] - 3), min(middles) - 5)
    high = max(105, min(130, ends[1] + 3), max(middles) + 5)
    step = 25 if low > -60 else 50 if low >= -150 else 100
    ticks = [tick for tick in range(-300, 201, step) if low <= tick <= (high if high > 130 else 100)]
    scale = rows.Scale("share of the operation that is hidden, in %", False, (low, high), ticks, words.percent,
                       line=0, better="more")
    return (curves if experiment.is_curve else rows).draw(experiment, title, scale, value_of, band)


def sentence(experiment):
    """The shares of all members; compared with the baseline where the intervals are apart."""
    parts = []
    for name in experiment.members:
        found = [(contest, contest.hidden(member)) for contest in experiment.undisturbed for member in contest.members
                 if member.name == name]
        found = [(contest, value) for contest, value in found if value is not None]
        if found:
            notes = [] if len(found) == 1 else ["%.0f to %.0f" % (min(value.value for _, value in found),
                                                                 max(value.value for _, value in found))]
            if name != experiment.baseline:
                notes.append(comparison(experiment, found))
            parts.append("%s hides %s%s" % (name, words.percent(statistics.median(value.value for _, value in found)),
                                            " (%s)" % "; ".join(notes) if notes else ""))
    if not parts:
        return "nothing was measured."
    rows_count = len(experiment.undisturbed)
    medians = " (medians over %d rows)" % rows_count if rows_count > 1 else ""
    return "of the operation's time%s, %s." % (medians, words.listing(parts))


def short(experiment):
    """For the headline: how it begins, what it says of each member, how it ends."""
    parts = []
    for name in experiment.members:
        found = [(contest, contest.hidden(member)) for contest in experiment.undisturbed for member in contest.members
                 if member.name == name]
        found = [(contest, value.value) for contest, value in found if value is not None]
        if found:
            parts.append("%s %s%s" % (name, "" if parts else "hides ", apart.text(
                experiment, found, apart.points_agree, lambda least, most: words.between(least, most, words.percent))))
    if any("," in part for part in parts):
        return "of the operation's time, ", parts, "."
    return "", parts, " of the operation's time."


def comparison(experiment, found):
    counts = [0, 0]  # less, more
    for contest, value in found:
        reference = contest.hidden(contest.baseline)
        is_around = band(contest) and contest.twin() is contest.baseline
        around = stats.Estimate(None, *band(contest), []) if is_around else reference
        if reference is not None and value.is_apart_from(around):
            counts[value.value > reference.value] += 1
    return times.clearly(*counts, len(found), than=" than " + experiment.baseline)
