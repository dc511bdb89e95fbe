"""How much CPU time a rank uses, all of its threads together."""

from . import times

HOW = "Further left is less CPU time. The axis is logarithmic."


def draw(experiment, title):
    return times.draw_rows(experiment, title, "CPU time of the busiest rank")


def sentence(experiment):
    return times.sentence(experiment, "the busiest rank", "uses CPU time of")
