"""What the drawings of times have in common: time, cpu and start."""

from . import curves, rows
from .scales import limits, ticks

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
