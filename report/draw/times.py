"""What the drawings of times have in common: time, cpu and start."""

from . import along, apart, curves, rows
from .scales import limits, ticks
from .. import stats, words

PERCENT_TICKS = 8
PERCENT_OUTLIER = 2  # times what nearly all have


def estimate_of(column):
    return lambda contest, member: member.estimate(column or contest.column())


def band(contest):
    """Round the time of the member that was measured twice: as far as it is from itself."""
    if contest.aa is None or not contest.aa.has_interval:
        return None
    value = contest.twin().estimate(contest.column())
    return (value.value * min(contest.aa.low, 1), value.value * max(contest.aa.high, 1)) if value is not None else None


# From where to where a column's time goes; else it is that of the operation alone.
EXTENTS = {"delivery": "from the last rank's start to the last rank's end",
           "wait": "from the beginning of the wait to its end, of the slowest rank",
           "start": "from the beginning of the starting call until it returns, of the slowest rank",
           "tests": "of all calls of test, of the slowest rank",
           "test": "of all calls of test of the slowest rank, divided by their number",
           "work": "from the beginning of the computation to its end, of the slowest rank",
           "overhead": "in the library's calls, so that the program cannot compute: the start, all tests and the wait, added up; of the "
                       "slowest rank",
           "idle": "from a rank's start of the operation to the end of its wait, less the CPU time of all its threads; of the slowest "
                   "and the busiest rank",
           "cpu_share": "the CPU time of all threads of a rank (the operating system's work in their calls is in it) in % of the "
                        "time; of the busiest and the slowest rank; over 100 %: several threads worked at a time",
           "idle_share": "what is left to 100 % of the time by the CPU time of all threads of a rank",
           "cpu_outside": "the CPU time of all threads of a rank, less that of the computation, in % of the time; of the busiest and "
                          "the slowest rank. Where ranks share a core, the computation takes longer than its CPU time, so that shares are too "
                         "small; below 0 they are not defined"}


def extent(experiment):
    """Exactly what an axis of times shows."""
    contest = experiment.contests[0]
    if "arguments" in contest.head:
        return "of the whole program, of the slowest rank"
    if contest.column() in EXTENTS:
        return EXTENTS[contest.column()]
    between = ""
    if contest.column() == "total" and contest.baseline.computes():
        between = ", with the %s between them" % ("computation" if contest.baseline.computation_uses_cpu() else "sleep")
    return "from a rank's start of the operation to the end of its wait%s; of the slowest rank" % between


def better(experiment):
    """Which end of the axis is, "less" or "more"; "": neither. What is idle can be used by a computation, and who
    computes is to use its core."""
    contest = experiment.contests[0]
    if contest.column() in ("idle", "idle_share") or contest.column() == "cpu_share" and contest.baseline.computes():
        return ""
    return "less"


def draw_any(experiment, title, label, reference=None):
    """Curves where there are several sizes (or numbers of ranks), else rows. reference: a value, and its words."""
    value_of = estimate_of(None)
    ends, middles = rows.ends(experiment, value_of), rows.middles(experiment, value_of)
    if experiment.is_count:
        most = max(1, round(ends[1]))
        span, places = (-0.2, most + 0.2), range(0, most + 1, max(1, most // 6))
    elif experiment.is_percent:
        middles = sorted(middles) or [0]
        most = min(middles[-1], PERCENT_OUTLIER * middles[int(0.9 * (len(middles) - 1))])  # (beyond is written)
        span = (-4, max(105, most) + 4)
        step = next(size for size in (25, 50, 100, 200, 500, 10000) if (span[1] - span[0]) / size <= PERCENT_TICKS)
        places = [tick for tick in range(-10 * step, 11 * step, step) if span[0] <= tick <= span[1]]
    else:
        if reference:
            ends, middles = (min(ends[0], reference[0]), max(ends[1], reference[0])), middles + [reference[0]]
        span = limits(ends, middles)
        places = ticks(*span)
    is_log = not (experiment.is_count or experiment.is_percent)
    scale = rows.Scale(label, is_log, span, places, experiment.text, reference=reference,
                       better=better(experiment))
    return (curves if not experiment.is_count and experiment.is_curve else rows).draw(experiment, title, scale, value_of, band)


def short(experiment, subject, verb="takes", value_of=None, ratio_of=None):
    """For the headline: how it begins, what it says of each member, how it ends, and True if it is of all rows. value_of(contest, member) and
    ratio_of(contest, member): numbers or None; else of the column that the experiment is about."""
    if experiment.by_ports():
        return short_by_ports(experiment)
    name, others = experiment.compared
    reference = name

    def estimate(contest, member):
        found = member.estimate(contest.column())
        return found.value if found is not None else None

    def ratio(contest, member):
        found = contest.ratio(member, reference)
        return found.value if found is not None else None

    def said(name, of, between):
        found = [(contest, of(contest, member)) for contest, member in experiment.decided(name, reference)]
        found = [(contest, value) for contest, value in found if value is not None]
        return apart.text(experiment, found, apart.times_agree, between) if found else ""

    def time(least, most):
        text = words.between(least, most, experiment.text)
        return text + " " + experiment.counted if experiment.is_count else text

    if along.is_of_values(experiment) and not experiment.is_relative:
        found, count, of_all = growth(experiment, [name] + others, value_of or estimate, time)
        asked = 2 if experiment.is_pair_asked else 1
        if {one for one, _ in found} >= set(([name] + others)[:asked]) and experiment.is_brief != apart.RANGE:
            decided = "" if count == of_all else ", in the %s of %d" % (
                "one decided line" if count == 1 else "%d decided lines" % count, of_all)
            return "with ", ["%s, %s %s %s" % (name, subject, verb, found[0][1])] + ["%s %s" % one for one in found[1:]], decided + ".", True
    if experiment.is_relative:
        values = [(other, said(other, ratio_of or ratio, lambda least, most: words.between(least, most, words.ratio)))
                  for other in others]
        what = words.quantity("overhead" if experiment.says == "start" and experiment.parts else experiment.contests[0].column())
        return "%s relative to that of %s: " % (what, name), ["%s %s" % pair for pair in values if pair[1]], "."
    baseline = said(name, value_of or estimate, time)
    if not baseline:
        return None
    others = [(other, said(other, ratio_of or ratio, lambda least, most: words.factors(least, most) + " that"))
              for other in others]
    return "with ", ["%s, %s %s %s" % (name, subject, verb, baseline)] + \
        ["%s %s" % pair for pair in others if pair[1]], "."


def growth(experiment, names, value_of, between):
    """Of members, their values at both ends of the axis, in the lines of rows where these of the first are
    decided; the number of these lines, and of all."""
    axis = along.axis(experiment)
    of = along.AXES[axis]
    ends = along.ends(axis, sorted({of(contest) for contest in experiment.contests}))
    lines = {}
    for contest in experiment.contests:
        if of(contest) in ends:
            lines.setdefault(along.line_of(contest, axis), {})[of(contest)] = contest
    lines = [line for line in lines.values() if len(line) == 2]
    def pairs_of(line, name):
        return [(line[end], value_in(line[end], name, value_of)) for end in ends]

    def is_whole(pairs):
        return all(value is not None for _, value in pairs)
    decided = [line for line in lines if is_whole(pairs_of(line, names[0])) and is_apart(pairs_of(line, names[0]))]
    found = []
    for name in names:  # (the others in the same lines)
        pairs = [pairs_of(line, name) for line in decided]
        if decided and all(map(is_whole, pairs)):
            found.append((name, apart.text(experiment, sum(pairs, []), apart.times_agree, between, has_ends=True)))
    return found, len(decided), len(lines)


def value_in(contest, name, value_of):
    member = contest.member(name)
    return value_of(contest, member) if member is not None and contest.is_defined(member) else None


def is_apart(pairs):
    """Whether the values of two rows can be told: they are not disturbed, or differ by a larger factor."""
    factors = [max(contest.aa.high, 1 / contest.aa.low) if contest.aa.has_interval and contest.aa.low > 0 else None
               for contest, _ in pairs if contest.disturbed]
    low, high = sorted(value for _, value in pairs)
    return not factors or None not in factors and high > max(factors) * low


def short_by_ports(experiment):
    """... where algorithms with several ports are compared with the same ones with one."""
    parts = []
    for name in experiment.members:
        found = []
        for several, one in experiment.by_ports():
            values = [member.estimate(contest.column()) if member else None
                      for contest, member in ((several, several.member(name)), (one, one.member(name)))]
            is_calm = not several.disturbed and not one.disturbed
            if None not in values and values[1].value > 0 and (is_calm or values[0].is_apart_from(values[1])):
                found.append((several, values[0].value / values[1].value))
        if found:
            parts.append("%s %s (%d of %d rows decided)" % (
                name, apart.text(experiment, found, apart.times_agree, lambda least, most: words.between(least, most, words.ratio)),
                len(found), len(experiment.by_ports())))
    return "%s with several ports relative to that with one: " % words.quantity(experiment.contests[0].column()), parts, "."


def sentence(experiment, subject, verb="takes"):
    """The baseline's times, and the others' relative to it."""
    name = experiment.baseline
    shown = [contest for contest, _ in experiment.decided(name)]
    values = [(contest, contest.baseline.estimate(contest.column())) for contest in shown]
    values = sorted(((contest, value.value) for contest, value in values if value), key=lambda pair: pair[1])
    if not values:
        return "%s was not measured." % name
    (least_row, least), (most_row, most) = values[0], values[-1]
    unit = " " + experiment.counted if experiment.is_count else ""
    text = experiment.text(least) + unit
    if experiment.text(least) != experiment.text(most):
        text += " (%s) to %s (%s)" % (place(experiment, least_row), experiment.text(most) + unit,
                                      place(experiment, most_row))
    elif len(values) > 1:
        text += " in all rows"
    compared = [comparison(experiment, other) for other in experiment.members if other != name]
    return "with %s, %s %s %s%s." % (name, subject, verb, text,
                                     "".join("; with " + one for one in compared if one))


def place(experiment, contest):
    """Which row: as short as it can be."""
    size = words.size(contest.bytes) if contest.bytes else ""
    return " ".join(filter(None, (experiment.group_of(contest) or contest.head["collective"], size)))


def comparison(experiment, other):
    """ "thread, 0.87 of that (clearly less in 7 of 8 rows)"; a row is clear if its interval and that of the same
    measured twice are apart, and it does not contain 1."""
    ratios = []
    for contest, member in experiment.decided(other):
        value = contest.ratio(member)
        if value is not None:
            ratios.append((value, contest.aa))
    if not ratios:
        return ""
    less, more = (sum(stats.is_clear(value, aa) and (value.value < 1) == is_less for value, aa in ratios)
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
