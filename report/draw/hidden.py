"""How much of an operation is hidden behind the computation that runs beside it."""

from . import curves, rows
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
            "operation is free; 0 %: as long as one after the other; higher is better"]


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
