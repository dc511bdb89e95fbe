"""What the drawings of times have in common: time, cpu and start."""

import math

from . import curves, rows
from .. import stats, words

STEPS = (1, 2, 5)
SHORTEST = 1e-3     # us
LEAST = 1e-4        # of the largest value: what is shorter is beyond the edge
MANY_DECADES = 1.5  # from here on only powers of ten are written


def ticks(low, high):
    """Round values between both, for a logarithmic axis."""
    steps = STEPS if math.log10(high / low) < MANY_DECADES else (1,)
    found = [step * 10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
             for step in steps]
    inside = [value for value in found if low <= value <= high]
    while len(inside) > 7:
        inside = inside[::2]
    return inside


def limits(low, high):
    """A little more than that, and at least a factor of four. (A CPU time may be 0.)"""
    high = max(high, 2 * SHORTEST)
    low = max(low, SHORTEST, high * LEAST)
    middle = math.sqrt(low * high)
    factor = max(math.sqrt(high / low) * 1.25, 2)
    return middle / factor, middle * factor


def estimate_of(column):
    return lambda contest, member: member.estimate(column or contest.column())


def band(contest):
    """What the baseline's time is when it is measured again."""
    value = contest.baseline.estimate(contest.column())
    if contest.aa is None or not contest.aa.has_interval or value is None:
        return None
    return value.value * contest.aa.low, value.value * contest.aa.high


def draw_any(experiment, title, label):
    """Curves where there are several sizes (or numbers of ranks), else rows."""
    value_of = estimate_of(None)
    found = rows.ends(experiment, value_of)
    if experiment.is_count:
        most = max(1, round(found[1]))
        span, places = (-0.2, most + 0.2), range(0, most + 1, max(1, most // 6))
    else:
        span = limits(*found)
        places = ticks(*span)
    scale = rows.Scale(label, not experiment.is_count, span, places, experiment.text)
    return (curves if not experiment.is_count and experiment.is_curve else rows).draw(experiment, title, scale, value_of, band)


def sentence(experiment, subject, verb="takes"):
    """The baseline's times, and the others' relative to it."""
    name = experiment.baseline
    shown = experiment.undisturbed
    values = [(contest, contest.baseline.estimate(contest.column())) for contest in shown]
    values = sorted(((contest, value.value) for contest, value in values if value), key=lambda pair: pair[1])
    if not values:
        return "%s was not measured." % name
    (least_row, least), (most_row, most) = values[0], values[-1]
    unit = " " + experiment.counted if experiment.is_count else ""
    text = experiment.text(least) + unit
    if least < most:
        text += " (%s) to %s (%s)" % (place(experiment, least_row), experiment.text(most) + unit,
                                      place(experiment, most_row))
    elif len(values) > 1:
        text += " in all rows"
    compared = [comparison(experiment, shown, other) for other in experiment.members if other != name]
    return "with %s, %s %s %s%s." % (name, subject, verb, text,
                                     "".join("; with " + one for one in compared if one))


def place(experiment, contest):
    """Which row: as short as it can be."""
    size = words.size(contest.bytes) if contest.bytes else ""
    return " ".join(filter(None, (experiment.group_of(contest) or contest.head["collective"], size)))


def comparison(experiment, shown, other):
    """ "thread, 0.87 of that (clearly less in 7 of 8 rows)"; a row is clear if its interval and that of the same
    measured twice are apart, and it does not contain 1."""
    ratios = []
    for contest in shown:
        member = next((member for member in contest.members if member.name == other), None)
        value = contest.ratio(member) if member else None
        if value is not None:
            ratios.append((value, contest.aa))
    if not ratios:
        return ""
    less, more = (sum(is_clear(value, aa) and (value.value < 1) == is_less for value, aa in ratios)
                  for is_less in (True, False))
    mean = stats.geometric_mean([value.value for value, _ in ratios])
    clear = clearly(less, more, len(ratios))
    return "%s, %s that (%s)" % (other, words.factor(mean), clear)


def clearly(less, more, rows_count, words_of=("less", "more"), than=""):
    """In how many rows the intervals are apart, and to which side; the more frequent side first."""
    counts = sorted(zip((less, more), words_of), reverse=True)
    (most, word), (other, other_word) = counts
    if not most:
        return "no clear difference" + (" in any row" if rows_count > 1 else "")
    if rows_count == 1:
        return "clearly " + word + than
    which = "%d of %d rows" % (most, rows_count)
    if most == rows_count:
        which = "both rows" if most == 2 else "all %d rows" % most
    text = "clearly %s%s in %s" % (word, than, which)
    return text + (", clearly %s in %d" % (other_word, other) if other else "")


def is_clear(value, aa):
    if not value.has_interval or value.low <= 1 <= value.high:
        return False
    return aa is None or not aa.has_interval or value.is_apart_from(aa)
