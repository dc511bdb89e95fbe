"""How long the call takes that starts an operation."""

from . import parts, times

HOW = "Further left is a faster start. The axis is logarithmic."


def notes(experiment):
    if experiment.is_count:
        return ["allocations: how often the call asks for memory; lower is better"]
    if experiment.parts:
        return ["overhead: what the program spends in the library's calls while it computes: the start, all tests, and "
                "the wait at the end, of the rank that spends most; lower is better"]
    if experiment.contests[0].column() == "start":
        return ["start: from the beginning of the call that starts the operation until it returns, before the operation is "
                "complete; of the slowest rank; lower is better"]
    return ["time: %s; lower is better" % times.extent(experiment)]


def draw(experiment, title):
    if experiment.parts:
        return parts.draw(experiment, title, "time in the library's calls")
    return times.draw_any(experiment, title, experiment.counted + " in the starting call" if experiment.is_count else
                           "time of the starting call")
