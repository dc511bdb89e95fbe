"""How long an operation takes: by bytes where there are several sizes, else in rows."""

from . import times

HOW = "Less is faster. The axes are logarithmic."


# What the time of a column is.
LABELS = {"delivery": "from the last rank's start to its end", "wait": "time in the wait", "start": "time of the start",
          "work": "time of the computation", "tests": "time in the tests"}


def is_overlapped(experiment):
    contest = experiment.contests[0]
    return contest.column() == "total" and contest.baseline.computes()


def notes(experiment):
    overlapped = "the operation runs while the program computes; the time is that of both, " \
        if is_overlapped(experiment) else ""
    return ["time: %sof the slowest rank; lower is better" % overlapped]


def draw(experiment, title):
    label = LABELS.get(experiment.contests[0].column(), "operation and computation together"
                       if is_overlapped(experiment) else "time of the operation")
    return times.draw_any(experiment, title, label)


def sentence(experiment):
    if is_overlapped(experiment):
        return times.sentence(experiment, "operation and computation together", "take")
    label = LABELS.get(experiment.contests[0].column())
    return times.sentence(experiment, "the operation" + (" (%s)" % label if label else ""))
