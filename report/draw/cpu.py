"""How much CPU time a rank uses, all of its threads together."""

from . import parts, times

ROUGH_US = 50
HOW = "Further left is less CPU time. The axis is logarithmic."
SHARE = ["beside a bar: the CPU time, and in parentheses how much of one core it is during the operation (and computation); over "
         "100 %: several threads worked, or the time is so short that whole us matter"]
RESOLUTION = ["the operating system counts CPU time in whole us: of operations of a few us it is rough"]


def notes(experiment):
    baseline = experiment.contests[0].baseline
    computation = " and of the computation" if baseline.computes() and baseline.computation_uses_cpu() else ""
    if is_of_core(experiment):
        return ["time taken from the core: how long a rank's core did not run other programs during one operation%s, "
                "with interrupts and the operating system's work for it; of the slowest rank; lower is better" %
                computation]
    return ["CPU time: how long processors worked for one operation%s, in all threads of a rank; it includes the "
            "operating system's work in their calls; of the busiest rank; lower is better" % computation] + \
        SHARE * bool(experiment.parts) + RESOLUTION * is_rough(experiment)


def draw(experiment, title):
    if experiment.parts:
        return parts.draw(experiment, title, "CPU time of the busiest rank")
    waiting = experiment.busy_waiting
    return times.draw_any(experiment, title, "time taken from the core" if is_of_core(experiment) else
                           "CPU time of the busiest rank",
                          reference=(waiting, "busy waiting: " + experiment.text(waiting)) if waiting else None)


def is_rough(experiment):
    """Whether a time is so short that the resolution of CPU time matters."""
    found = [member.estimate("total") for contest in experiment.contests for member in contest.members]
    return min([value.value for value in found if value is not None], default=ROUGH_US) < ROUGH_US


def is_of_core(experiment):
    """Interrupts are in it, too."""
    return experiment.contests[0].column() == "core"
