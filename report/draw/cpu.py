"""How much CPU time a rank uses, all of its threads together."""

from . import parts, times

HOW = "Further left is less CPU time. The axis is logarithmic."
SHARE = ["beside a bar: the CPU time, and how much of one processor it is during the operation (and computation)"]


def notes(experiment):
    return ["CPU time: how long processors worked for a rank (all of its threads) during one operation%s; lower is "
            "better" % (", with the computation" if experiment.contests[0].baseline.computes() else "")] + SHARE * bool(experiment.parts)


def draw(experiment, title):
    if experiment.parts:
        return parts.draw(experiment, title, "CPU time of the busiest rank")
    return times.draw_any(experiment, title, "time taken from the core" if is_of_core(experiment) else
                           "CPU time of the busiest rank")


def is_of_core(experiment):
    """Interrupts are in it, too."""
    return experiment.contests[0].column() == "core"


def sentence(experiment):
    if is_of_core(experiment):
        return times.sentence(experiment, "a rank and its interrupts", "take from their core")
    return times.sentence(experiment, "the busiest rank", "uses CPU time of")
