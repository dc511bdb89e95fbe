"""How long an operation takes: by bytes where there are several sizes, else in rows."""

from . import times

HOW = "Less is faster. The axes are logarithmic."


# What the time of a column is.
LABELS = {"delivery": "from the last rank's start to the last rank's end", "wait": "time in the wait",
          "start": "time of the start", "work": "time of the computation", "tests": "time in the tests"}


def is_overlapped(experiment):
    contest = experiment.contests[0]
    return contest.column() == "total" and contest.baseline.computes()


def notes(experiment):
    return ["time: %s; lower is better" % times.extent(experiment)]


def draw(experiment, title):
    label = LABELS.get(experiment.contests[0].column(), "operation and computation together"
                       if is_overlapped(experiment) else "time of the operation")
    return times.draw_any(experiment, title, label)


def subject(experiment):
    if is_overlapped(experiment):
        return "operation and computation together", "take"
    label = LABELS.get(experiment.contests[0].column())
    return "the operation" + (" (%s)" % label if label else ""), "takes"


def sentence(experiment):
    return times.sentence(experiment, *subject(experiment))


def short(experiment):
    label = LABELS.get(experiment.contests[0].column(), "")
    if label.startswith("time "):  # in the headline without parentheses
        return times.short(experiment, "the " + label, "is")
    return times.short(experiment, *subject(experiment))
