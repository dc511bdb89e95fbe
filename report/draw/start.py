"""How long the call takes that starts an operation."""

from . import parts, times

HOW = "Further left is a faster start. The axis is logarithmic."


def notes(experiment):
    if experiment.is_count:
        return ["allocations: how often the call asks for memory; lower is better"]
    if experiment.parts:
        return ["overhead: what the program spends in the library's calls while it computes: the start, all tests, and "
                "the wait at the end; lower is better"]
    return ["start: the call returns when the operation is under way, before it is complete; lower is better"]


def draw(experiment, title):
    if experiment.parts:
        return parts.draw(experiment, title, "time in the library's calls")
    return times.draw_any(experiment, title, experiment.counted + " in the starting call" if experiment.is_count else
                           "time of the starting call")


def sentence(experiment):
    if experiment.is_count:
        return times.sentence(experiment, "the call that starts an operation", "makes")
    if experiment.parts:
        return parts.sentence(experiment, "start, tests and wait")
    return times.sentence(experiment, "the call that starts an operation")
