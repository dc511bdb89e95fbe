"""Figures that would be too tall to be looked at become several."""

from . import words
from .draw import curves

LANES_MAX = 72   # of rows
PANELS_MAX = 6   # of lines
# By what figures are told apart first. What lines go over stays together.
ORDER = ("nodes", "link", "ranks", "transport", "mpi", "late", "algorithm", "call", "progress", "compute", "collective")


def is_too_tall(experiment):
    if experiment.is_curve and not experiment.parts and not experiment.is_count:
        return len(curves.panels_of(experiment, curves.names_of(experiment))) > PANELS_MAX
    return sum(len(contest.members) for contest in experiment.contests) > LANES_MAX


def in_parts(experiment):
    """The experiment, or parts of it that have an axis' value in common each."""
    if not experiment.contests or not is_too_tall(experiment):
        return [experiment]
    axis = next((name for name in ORDER if name in experiment.axes), None)
    if axis is None:
        return [experiment]
    together = {}
    for contest in experiment.contests:
        together.setdefault(words.axis(axis, contest.head.get(axis)), []).append(contest)
    return [part for at, (what, contests) in enumerate(together.items())
            for part in in_parts(experiment.only(contests, what, at == 0))]
