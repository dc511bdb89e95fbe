"""How long an operation takes: by bytes where there are several sizes, else in rows."""

from . import times

HOW = "Less is faster. The axes are logarithmic."


def is_overlapped(experiment):
    return experiment.contests[0].column() == "total"


def draw(experiment, title):
    label = "operation and computation together" if is_overlapped(experiment) else "time of the operation"
    are_curves = all(contests[0].bytes and len({contest.bytes for contest in contests}) > 1
                     for contests in experiment.groups.values())
    return (times.draw_curves if are_curves else times.draw_rows)(experiment, title, label)


def sentence(experiment):
    if is_overlapped(experiment):
        return times.sentence(experiment, "operation and computation together", "take")
    return times.sentence(experiment, "the operation")
