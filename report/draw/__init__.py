"""The drawings: one module for each of what a scenario can be about ("says").

Each has draw(experiment, title), which returns a matplotlib figure (title: a style.Texts); sentence(experiment), which
says what it shows; notes(experiment), the words that the figure needs under it; and HOW, which says how to read it."""

from . import cpu, hidden, ratio, start, time

KINDS = {"hidden": hidden, "time": time, "ratio": ratio, "cpu": cpu, "idle": cpu, "start": start}


def kind_of(experiment):
    return KINDS.get(experiment.says, time)
