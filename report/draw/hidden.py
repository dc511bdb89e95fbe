"""How much of an operation is hidden behind the computation that runs beside it."""

import re
import statistics

from . import curves, rows, times
from .. import stats, words

HOW = ("100 %: the operation costs no time beside the computation; 0 %: as long as one after the other; below 0: "
       "overlapping lost time.")
LOWEST = -100  # what is below is drawn as a triangle at the edge


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
    return ["hidden: the part of the operation's time that the computation beside it did not pay for. 100 %: the "
            "operation is free; 0 %: as long as one after the other; higher is better"]


def draw(experiment, title):
    found = rows.ends(experiment, value_of) or (0, 100)
    low = max(LOWEST, min(-5, found[0] - 3))
    high = min(130, max(105, found[1] + 3))
    step = 25 if low > -60 else 50
    ticks = [tick for tick in range(-100, 126, step) if low <= tick <= min(high, 100)]
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
    """For the title."""
    text = re.sub(r" \([^()]*(\([^()]*\)[^()]*)*\)", "", sentence(experiment))
    if not text.startswith("of the operation's time, "):
        return ""
    first, *others = text[len("of the operation's time, "):-1].split(" hides ")
    return first + " hides " + " ".join(others) + " of the operation's time."


def comparison(experiment, found):
    counts = [0, 0]  # less, more
    for contest, value in found:
        reference = contest.hidden(contest.baseline)
        around = stats.Estimate(None, *band(contest), []) if band(contest) else reference
        if reference is not None and value.is_apart_from(around):
            counts[value.value > reference.value] += 1
    return times.clearly(*counts, len(found), than=" than " + experiment.baseline)
