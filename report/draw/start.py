"""How long the call takes that starts an operation."""

from . import times

HOW = "Further left is a faster start. The axis is logarithmic."


def draw(experiment, title):
    return times.draw_rows(experiment, title, experiment.counted + " in the starting call" if experiment.is_count else
                           "time of the starting call")


def sentence(experiment):
    if experiment.is_count:
        return times.sentence(experiment, "the call that starts an operation", "makes")
    return times.sentence(experiment, "the call that starts an operation")
