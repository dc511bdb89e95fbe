"""How much of an operation is hidden behind the computation that runs beside it."""

import statistics

from . import apart, curves, rows, times
from .. import words

HOW = ("100 %: the operation costs no time beside the computation; 0 %: as long as one after the other; below 0: "
       "overlapping lost time.")
LOWEST = -100          # where only intervals are below, a triangle at the edge stands for them


def value_of(contest, member):
    return contest.hidden(member)


def band(contest):
    return contest.hidden_twice()


def notes(experiment):
    return ["hidden: the part of the operation's time that the computation beside it did not pay for: (computation alone "
            "+ operation alone - the two together) / the shorter of these two, each of the slowest rank. 100 %: the "
            "operation is free; 0 %: as long as one after the other; higher is better. Where ranks share a core, or a time "
            "was not steady, it may be over 110 % or below -100 %, which is no share: not defined there"]


def draw(experiment, title):
    ends = rows.ends(experiment, value_of) or (0, 100)
    middles = rows.middles(experiment, value_of) or [0]
    low = min(-5, max(LOWEST, ends[0] - 3), min(middles) - 5)
    high = max(105, min(130, ends[1] + 3), max(middles) + 5)
    step = 25 if low > -60 else 50
    ticks = [tick for tick in range(-100, 101, step) if low <= tick]
    scale = rows.Scale("share of the operation that is hidden, in %", False, (low, high), ticks, words.percent,
                       line=0, better="more")
    return (curves if experiment.is_curve else rows).draw(experiment, title, scale, value_of, band)


def sentence(experiment):
    """The shares of all members; compared with the baseline where the intervals are apart."""
    parts = []
    for name in experiment.members:
        found = [(contest, contest.hidden(member)) for contest, member in experiment.decided(name)]
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
    rows_count = len(experiment.decided_rows)
    medians = " (medians over %d rows)" % rows_count if rows_count > 1 else ""
    return "of the operation's time%s, %s." % (medians, words.listing(parts))


def short(experiment):
    """For the headline: how it begins, what it says of each member, how it ends."""
    parts = []
    first, others = experiment.compared
    for name in [first] + others:
        found = [(contest, contest.hidden(member)) for contest, member in experiment.decided(name, first)]
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
        if reference is not None and contest.is_share_apart(value, contest.baseline):
            counts[value.value > reference.value] += 1
    return times.clearly(*counts, len(found), than=" than " + experiment.baseline)
