"""How long the call takes that starts an operation."""

from . import times

HOW = "Further left is a faster start. The axis is logarithmic."


def draw(experiment, title):
    return times.draw_rows(experiment, title, "time of the starting call")


def sentence(experiment):
    return times.sentence(experiment, "the call that starts an operation")
