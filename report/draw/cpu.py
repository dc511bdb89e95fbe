"""How much CPU time a rank uses, all of its threads together."""

from . import times

HOW = "Further left is less CPU time. The axis is logarithmic."


def draw(experiment, title):
    return times.draw_rows(experiment, title, "time taken from the core" if is_of_core(experiment) else
                           "CPU time of the busiest rank")


def is_of_core(experiment):
    """Interrupts are in it, too."""
    return experiment.contests[0].column() == "core"


def sentence(experiment):
    if is_of_core(experiment):
        return times.sentence(experiment, "a rank and its interrupts", "take from their core")
    return times.sentence(experiment, "the busiest rank", "uses CPU time of")
