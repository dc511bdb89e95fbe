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
    parts = []
    for what, contests in in_order(experiment, together):
        parts += in_parts(experiment.only(contests, what, not parts))
    return parts


def in_order(experiment, together):
    """Neighbouring values of an axis together, as far as there is room: what they are, and their contests."""
    found = []
    for what, contests in together.items():
        if found and not is_too_tall(experiment.only(found[-1][1] + contests, "", False)):
            found[-1] = (found[-1][0] + [what], found[-1][1] + contests)
        else:
            found.append(([what], contests))
    return [(" to ".join([names[0], names[-1]]) if len(names) > 2 else words.listing(names), contests) for names, contests in found]
