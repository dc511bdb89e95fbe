"""How long an operation takes: by bytes where there are several sizes, else in rows. Also what is computed from times."""

from . import cpu, times

HOW = "Less is faster. The axes of times are logarithmic."


# What the time of a column is.
LABELS = {"delivery": "from the last rank's start to the last rank's end", "wait": "time in the wait",
          "start": "time of the start", "work": "time of the computation", "tests": "time in the tests", "test": "time of one test",
          "overhead": "overhead: time in start, tests and wait", "idle": "idle time: time less CPU time",
          "cpu_share": "CPU time / time, in %", "idle_share": "idle time / time, in %",
          "cpu_outside": "CPU time outside of the computation / time, in %"}
OF_CPU = ("idle", "cpu_share", "idle_share", "cpu_outside")
SUBJECTS = ("overhead",) + OF_CPU  # what is no time of the operation


def is_overlapped(experiment):
    contest = experiment.contests[0]
    return contest.column() == "total" and contest.baseline.computes()


def notes(experiment):
    column = experiment.contests[0].column()
    if column in SUBJECTS:
        what = LABELS[column].partition(":")[0].partition(",")[0]
        better = {"less": "; lower is better", "more": "; higher is better", "": ""}[times.better(experiment)]
        return ["%s: %s%s" % (what, times.extent(experiment), better)] + \
            (cpu.RESOLUTION if column in OF_CPU and cpu.is_rough(experiment) else []) + beyond_cores(experiment)
    return ["time: %s; lower is better" % times.extent(experiment)]


def beyond_cores(experiment):
    """That a share of more cores than there are is none."""
    cores = experiment.run.head["host"].get("cpus")
    if experiment.contests[0].column() != "cpu_share" or not isinstance(cores, int):
        return []
    found = [member.estimate("cpu_share") for contest in experiment.contests for member in contest.members]
    most = max([value.value for value in found if value is not None], default=0)
    return ["over %d %% on %d cores: counting error of the clock" % (100 * cores, cores)] if most > 100 * cores else []


def draw(experiment, title):
    label = LABELS.get(experiment.contests[0].column(), "operation and computation together"
                       if is_overlapped(experiment) else "time of the operation")
    return times.draw_any(experiment, title, label)
