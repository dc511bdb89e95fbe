"""The drawings: one module for each of what a scenario can be about ("says"), one for the verdicts, one for what was simulated.

Each has draw(experiment, title), which returns a matplotlib figure (title: a style.Texts); notes(experiment), the words that the
figure needs under it; and HOW, which says how to read it."""

from . import cpu, hidden, judged, model, ratio, start, time

KINDS = {"hidden": hidden, "time": time, "ratio": ratio, "cpu": cpu, "idle": cpu, "start": start}
ROLES = {"verdict": judged, "model": model}


def kind_of(experiment):
    return ROLES.get(experiment.role) or KINDS.get(experiment.says, time)
