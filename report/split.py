"""The figures of an experiment: the verdicts, its details (what would be too tall becomes several), and what was simulated."""

from . import words
from .draw import curves, judged

LANES_MAX = 72   # of rows
PANELS_MAX = 6   # of lines
# By what figures are told apart first. What lines go over stays together.
ORDER = ("nodes", "link", "ranks", "transport", "mpi", "late", "algorithm", "call", "progress", "compute", "collective")


def is_too_tall(experiment):
    if experiment.is_curve and not experiment.parts and not experiment.is_count:
        return len(curves.panels_of(experiment, curves.names_of(experiment))) > PANELS_MAX
    return sum(len(contest.members) for contest in experiment.contests) > LANES_MAX


def figures(experiment):
    """The first has what belongs to all of them."""
    if not experiment.contests:
        return [experiment]
    found = [experiment.as_a("verdict")] if judged.claims_of(experiment) else []
    found += in_parts(experiment.as_a("detail" if found else ""))
    if experiment.simulated_alone:
        found.append(experiment.as_a("model"))
    for one in found[1:]:
        one.missing, one.switches = [], []
    return found


def in_parts(experiment):
    """The experiment, or parts of it that have an axis' value in common each."""
    if not experiment.contests or not is_too_tall(experiment):
        return [experiment]
    axis = next((name for name in ORDER if name in experiment.axes and not (experiment.is_by_row and name == experiment.asked)), None)
    together = {}
    for contest in experiment.contests:
        what = words.size(contest.bytes) if axis is None else words.axis(axis, contest.head.get(axis))
        together.setdefault(what, []).append(contest)
    if len(together) == 1:
        return [experiment]
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
