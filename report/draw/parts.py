"""Stacked bars: of what a cost consists, for each member of each row; their length is relative to the baseline's, so that
small messages can be seen beside large ones."""

from matplotlib.colors import to_rgba
from matplotlib.patches import Patch

from . import rows, style, times
from .. import stats, words

STRENGTHS = (1, 0.6, 0.3)  # of a member's colour: the first part is the strongest
ROOM = 1.05
OUTLIER = 2.5  # a bar that is so many times as long as three quarters of all is cut, and its length is written
MOST = 0.75


def medians(member, columns):
    """The median of the sum, of the rank that has the largest in a repetition, in parts as large as in the mean: the operating
    system counts the whole of a short time as user or system time. A column that was not measured is 0."""
    busiest = list(by_repetition(member, columns).values())
    whole = sum(map(sum, busiest))
    if not whole:
        return [0] * len(columns)
    middle = stats.estimate([sum(parts) for parts in busiest]).value
    return [middle * sum(parts[at] for parts in busiest) / whole for at in range(len(columns))]


def by_repetition(member, columns):
    """The parts of the rank with the largest sum."""
    places = [member.head["columns"].index(column) if column in member.head["columns"] else None for column in columns]
    found = {}
    for sample in member.cell.samples:
        ranks = [[(rank[at] or 0) if at is not None else 0 for at in places] for rank in sample["ranks"]]
        if ranks:
            found[sample["repetition"]] = max(ranks, key=sum)
    return found


def draw(experiment, title, label):
    columns = experiment.parts
    wholes = {id(contest): sum(medians(contest.baseline, columns)) or 1 for contest in experiment.contests}
    lengths = sorted(sum(medians(member, columns)) / wholes[id(contest)]
                     for contest in experiment.contests for member in contest.members)
    most = min(lengths[-1], max(1, OUTLIER * lengths[int(MOST * (len(lengths) - 1))]))
    step = next(size * 10.0**power for power in range(-2, 9) for size in (1, 2, 5) if size * 10.0**power * 5 >= most)
    ticks = [step * at for at in range(int(most * ROOM / step) + 1)]
    scale = rows.Scale("%s / that of %s" % (label, experiment.shown(experiment.baseline)), False, (0, most * ROOM), ticks, experiment.text,
                       line=1, tick_text=lambda value: "%g" % value)
    entries = [Patch(facecolor=style.MUTED, alpha=strength, label="%s: %s" % (column, MEANINGS[column]))
               for column, strength in zip(columns, STRENGTHS)]
    if any(experiment.is_open(contest, member) for contest in experiment.contests for member in contest.members):
        entries.append(style.hatched(experiment))

    def bars(axes, contest, member, lane, colour):
        """Returns the number beside it."""
        left, whole = 0, wholes[id(contest)]
        for value, strength in zip(medians(member, columns), STRENGTHS):
            axes.barh([lane], [value / whole], rows.LANE * 0.8, left=left, facecolor=to_rgba(colour, strength), linewidth=0.5,
                      edgecolor=style.PAPER if strength > 0.5 else style.MUTED,  # (of the hatch, too)
                      hatch=style.HATCH if experiment.is_open(contest, member) else None)
            left += value / whole
        if left > scale.limits[1]:
            axes.text(scale.limits[1], lane, "%s times >" % words.figure(left), ha="right", va="center", fontsize=8,
                      bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.8})
        rows.draw_simulated(axes, experiment, contest, member.name, lane, scale, whole)
        return experiment.text(left * whole) + share(member, left * whole, columns)

    return rows.draw(experiment, title, scale, None, lambda contest: None, bars=bars, more_entries=entries)


def share(member, value, columns):
    """Of CPU time: which part of a processor, while the operation and the computation took place."""
    total = member.estimate("total") if "user" in columns else None
    return " (%s)" % words.percent(100 * value / total.value) if total is not None and total.value > 0 else ""


MEANINGS = {"start": "the call that starts it", "tests": "all calls of test", "wait": "the wait at the end",
            "user": "in the program and its libraries", "system": "in the operating system"}
