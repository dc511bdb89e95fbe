"""Experiments: the cells of one scenario in one run, grouped into contests (the rows of tables and figures)."""

import copy
import functools
import re

from . import claims, stats
from . import words

# What can tell contests apart, other than the bytes: the axes of a scenario, as its cells have them.
AXES = ("mpi", "collective", "algorithm", "ranks", "nodes", "link", "transport", "compute", "late", "progress", "call",
        "barrier", "timer", "cores", "segment")


# Columns that are no times.
COUNTS = {"allocations": "allocations"}
PERCENT = ("cpu_share", "idle_share", "cpu_outside")
# Columns that are made of measured ones: sums of each rank, and what is computed from the slowest rank's times.
SUMS = {"overhead": ("start", "tests", "wait")}
COMPUTED = {
    "cpu_share": (("cpu", "total"), lambda cpu, total: 100 * cpu / total),
    "idle_share": (("cpu", "total"), lambda cpu, total: 100 - 100 * cpu / total),
    "cpu_outside": (("cpu", "work", "total"), lambda cpu, work, total: 100 * (cpu - work) / total),
    "idle": (("total", "cpu"), lambda total, cpu: max(total - cpu, 0)),  # (a reading takes time, too)
    "test": (("tests", "test_calls", "total"), lambda tests, calls, total: tests / max(calls, 1)),
}
# Of axes whose values a question compares: how it names them.
ASKED = (("late", r"\blate\b|\bskew"), ("algorithm", r"algorithm|\bleader|\bgroups?\b|\bports?\b|\brounds\b|\bflat\b"))
CURVE_SIZES = 4  # from so many points on, a curve says more than rows
# Of a simulated point: which figures it belongs to ("says"), or else which column it is.
METRICS = {"hidden": "hidden", "overlap": "hidden", "ratio": "ratio"}


class Member:
    """One member in one contest: the estimates that tables and figures take."""

    def __init__(self, cell, experiment):
        self.name_in_scenario = name_in_scenario(cell.head, [member.get("name") for member in experiment.scenario.get("members") or []])
        self.name = self.name_in_scenario if len(experiment.mpis) > 1 else cell.head["member"]
        self.head = cell.head
        self.is_again = bool(cell.head.get("again"))
        self.cell = cell
        self.of_all_ranks = experiment.of_all_ranks
        self.statistic = experiment.statistic

    @functools.lru_cache(maxsize=None)
    def times(self, column):
        """By repetition, the slowest rank's; or, if the scenario says so, by repetition and rank."""
        if column in COMPUTED:
            names, value = COMPUTED[column]
            times = [self.times(name) for name in names]
            total = times[names.index("total")]
            return {key: value(*(one[key] for one in times)) for key in total
                    if total[key] > 0 and all(key in one for one in times)}
        names = SUMS.get(column, (column,))
        if not set(names) <= set(self.head["columns"]):
            return {}
        places = [self.head["columns"].index(name) for name in names]
        found = {}
        for sample in self.cell.samples:
            values = [sum(rank[at] or 0 for at in places) if column in SUMS else rank[places[0]] for rank in sample["ranks"]]
            if self.of_all_ranks:
                found.update({(sample["repetition"], rank): value
                              for rank, value in enumerate(values) if value is not None})
            elif any(value is not None for value in values):
                found[sample["repetition"]] = max(value for value in values if value is not None)
        return found

    def estimate(self, column):
        times = self.times(column)
        return stats.estimate(times.values(), self.statistic) if times else None

    def computes(self):
        return bool(words.compute(self.head.get("compute")))

    def computation_uses_cpu(self):
        return (self.head.get("compute") or {}).get("what") != "sleep"


def name_in_scenario(head, names):
    """The name that the scenario gives an MPI's member: "mpich", "mpich blocking", "mpich by hand" are "mpi", "mpi blocking",
    "by hand". Where several MPIs are in one figure, the rows (or panels) name them."""
    name = head["member"]
    kind = str(head.get("implementation", ""))
    if not kind.startswith(("mpi", "preload", "stub", "libnbc", "nbc:")) and kind != "thread:mpi":
        return name
    rest = name.partition(" ")[2]
    whole = ("mpi " + rest).strip()
    return whole if rest in ("", "again") or whole in names else rest


class Contest:
    """Cells that took turns with each other: they differ in the member only."""

    def __init__(self, members, scenario):
        self.members = [member for member in members if not member.is_again]
        self.again = next((member for member in members if member.is_again), None)
        self.scenario = scenario
        if not self.members:  # only the repeated one is there
            self.members = [self.again]
            self.again = None
        named = [member for member in self.members if scenario.get("baseline") in (member.name, member.name_in_scenario)]
        self.baseline = (named or self.members)[0]
        self.head = self.baseline.head
        is_barrier = set(self.head["collective"].split("+")) == {"ibarrier"}
        self.bytes = 0 if is_barrier else self.head["bytes"]  # (the first files have 1 there)

    def column(self):
        """The time that this scenario is about."""
        named = self.scenario.get("column")
        if named:
            return named
        says = self.scenario.get("says")
        if says in ("cpu", "start", "idle"):
            return "cpu" if says == "idle" else says
        return "total" if "total" in self.head["columns"] else "blocking"

    def is_measured(self):
        """Whether there is something to draw."""
        if self.scenario.get("says") == "hidden":
            return any(self.hidden(member) for member in self.members)
        return bool(self.baseline.times(self.column()))

    def hidden(self, member):
        blocking = self.baseline if self.scenario.get("blocking") == "baseline" else member
        return stats.hidden(member.times("work"), blocking.times("blocking"), member.times("total"))

    def ratio(self, member, other=None):
        """To the baseline, or to another member (its name); None: it is not there."""
        other = self.baseline if other is None else self.member(other)
        return stats.ratio(member.times(self.column()), other.times(self.column())) if other else None

    def member(self, name):
        return next((member for member in self.members if member.name == name), None)

    def hidden_twice(self):
        """What the same hides when it is measured twice: from the least to the most of both intervals, or None."""
        if self.again is None:
            return None
        both = [self.hidden(self.again), self.hidden(self.twin())]
        if not all(value is not None and value.has_interval for value in both):
            return None
        return min(value.low for value in both), max(value.high for value in both)

    def is_share_apart(self, value, other):
        """Whether a hidden share differs from another member's by more than the same measured twice does."""
        reference, twice = self.hidden(other), self.hidden_twice()
        if reference is None:
            return False
        if twice is None:
            return value.is_apart_from(reference)
        # As far to either side, also of a member that was not measured twice.
        middle = self.hidden(self.twin()).value
        aside = max(middle - twice[0], twice[1] - middle)
        ends = [end for end in (reference.low, reference.high) if end is not None]
        return value.is_apart_from(stats.Estimate(None, min([reference.value - aside] + ends),
                                                  max([reference.value + aside] + ends), []))

    def differs(self, member, other):
        """Whether two members differ by more than the same measured twice does."""
        if self.scenario.get("says") == "hidden":
            value = self.hidden(member)
            return value is not None and self.is_share_apart(value, other)
        column = self.column()
        if self.scenario.get("says") == "start" and not self.scenario.get("column") and member.computes():
            column = "overhead"  # (of which the parts are drawn)
        value = stats.ratio(member.times(column), other.times(column))
        aa = stats.ratio(self.again.times(column), self.twin().times(column)) if self.again else None
        return value is not None and stats.is_clear(value, aa)

    def decides(self, member, reference=None):
        """Whether the row tells something of this member: it is not disturbed, or the member differs from the reference
        (a name; else the baseline) by more than the disturbance. The reference differs from any other."""
        reference = self.member(reference) or self.baseline
        if not self.is_defined(member):
            return False
        if not self.disturbed:
            return True
        others = [other for other in self.members if other is not reference and self.is_defined(other)]
        if member is not reference:
            return self.is_defined(reference) and self.differs(member, reference)
        return any(self.differs(other, member) for other in others)

    def is_defined(self, member):
        """Whether its share is one: of time in which nothing else was computed, or of a core that it did not share."""
        if self.scenario.get("says") == "hidden":
            value = self.hidden(member)
            return value is None or stats.is_share_hidden(value.value)
        value = member.estimate(self.column()) if self.column() in PERCENT else None
        return value is None or value.value >= 0

    def twin(self):
        """Whom the repeated member repeats."""
        def kind(member):
            return {key: value for key, value in member.head.items()
                    if key not in ("id", "member", "again", "work_iterations", "columns", "resident_kib")}
        return next((member for member in self.members if kind(member) == kind(self.again)), self.baseline)

    @functools.cached_property
    def aa(self):
        """The ratio of a member to itself, measured again; None: not measured."""
        if self.again is None:
            return None
        return stats.ratio(self.again.times(self.column()), self.twin().times(self.column()))

    def disturbance(self, member=None):
        share = None
        if member is not None and self.scenario.get("says") == "hidden":
            found = self.hidden(member)
            share = found.value if found else None
        return stats.disturbance(self.aa, share)

    @functools.cached_property
    def disturbed(self):
        """Why this row is disturbed; "": it is not."""
        return next(filter(None, (self.disturbance(member) for member in self.members)), "")


class Experiment:
    """A scenario's contests in a run, or in the runs of several MPIs."""

    def __init__(self, name, runs, interruption, simulated=(), view=None):
        """`view`: other fields of the scenario, to draw its samples in another way."""
        self.name = (view or {}).get("name", name)
        self.is_brief = 0  # of headlines: see terse()
        self.is_relative = self.is_pooled = False
        self.part = ""  # of several figures: what its rows have in common
        self.runs = runs
        run = self.run = runs[0]
        for one in runs:
            one.head["mpi"] = words.mpi_name(one.head.get("mpi") or "")
        self.mpis = list(dict.fromkeys(one.head["mpi"] for one in runs if one.head["mpi"]))
        self.interruption = interruption
        self.all_simulated = list(simulated)
        self.scenario = dict(run.head["scenarios"][name], **view or {})
        self.question = self.scenario.get("question") or self.name
        self.says = self.scenario.get("says") or "time"
        statistic = self.scenario.get("statistic") or {}
        self.statistic = statistic.get("repetitions", "median")
        self.of_all_ranks = statistic.get("ranks") == "all"
        self.missing = [line for one in runs for line in one.missing if line["scenario"] == name and not view]
        self.switches = [line for one in runs for line in one.switches if line["scenario"] == name]
        by_contest = {}
        for one in runs:
            for cell in one.cells.values():
                if cell.head["scenario"] == name and cell.samples:
                    cell.head.setdefault("mpi", one.head.get("mpi", ""))
                    by_contest.setdefault((one.head["mpi"], cell.head["contest"]), []).append(Member(cell, self))
        contests = [Contest(members, self.scenario) for members in by_contest.values()]
        self.contests = [contest for contest in contests if contest.is_measured()]
        if contests and not self.contests:
            self.missing.append({"scenario": name, "why": "its samples have no times of this kind"})

    def only(self, contests, what, is_first):
        """The same of some contests, which have something in common: `what`, in words. The first part has the rest, too."""
        part = copy.copy(self)
        for name, value in vars(Experiment).items():
            if isinstance(value, functools.cached_property):
                part.__dict__.pop(name, None)
        part.part = ", ".join(filter(None, (self.part, what)))
        part.contests = contests
        part.mpis = [mpi for mpi in self.mpis if any(contest.head["mpi"] == mpi for contest in contests)]
        if not is_first:
            part.missing, part.switches, part.all_simulated = [], [], []
        return part

    def terse(self, is_relative, is_brief, is_pooled=False):
        """The same for a headline with less room: without the times of the member with which the others are compared;
        how much of an axis (see draw/apart.py); with one machine and nodes, and MPIs, together."""
        one = copy.copy(self)
        one.is_relative, one.is_brief, one.is_pooled = is_relative, is_brief, is_pooled
        return one

    @functools.cached_property
    def members(self):
        """Names, in the order of the scenario; not the repeated ones."""
        found = list(dict.fromkeys(member.name for contest in self.contests for member in contest.members))
        order = [member.get("name") for member in self.scenario.get("members") or []]
        return sorted(found, key=order.index) if set(found) <= set(order) else found

    def explained(self, name):
        """A member's name with what it is: in the scenario's words ("what"), or in ours."""
        given = next((member.get("what") for member in self.scenario.get("members") or []
                      if member.get("name") == name), None)
        if name == "mpi" and self.calls_of(name) == {"blocking"}:
            given = words.MEMBERS["mpi blocking"]
        text = "%s (%s)" % (name, given) if given else words.member(name)
        known = self.scenario.get("stands_for") or {}
        stands_for = next((known[key] for key in ["%s beside %s" % (name, other) for other in self.members] + [name] if key in known), None)
        return "%s: %s" % (text, stands_for) if stands_for else text

    def calls_of(self, name):
        return {member.head.get("call") for contest in self.contests for member in contest.members if member.name == name}

    @functools.cached_property
    def claims(self):
        """What the paper says about it, with the verdicts."""
        return claims.claims_of(self.scenario)

    @functools.cached_property
    def varying(self):
        found = [name for name in AXES
                 if len({words.axis(name, contest.head.get(name)) for contest in self.contests}) > 1]
        if "transport" in found and self.place_decides_transport():
            found.remove("transport")
        return found

    def place_decides_transport(self):
        by_place = {}
        for contest in self.contests:
            by_place.setdefault((contest.head["ranks"], contest.head.get("nodes")), set()).add(contest.head.get("transport"))
        return len(by_place) > 1 and all(len(some) == 1 for some in by_place.values())

    @functools.cached_property
    def is_over_ranks(self):
        """Whether curves go over the ranks: there are several numbers of these, and not so many sizes."""
        sizes, ranks = ({of(contest) for contest in self.contests}
                        for of in (lambda contest: contest.bytes, lambda contest: contest.head["ranks"]))
        return len(ranks) >= 3 and len(sizes) < len(ranks)

    @functools.cached_property
    def asked(self):
        """The axis whose values the question compares, so that these are side by side; "": the members are compared."""
        found = next((name for name, pattern in ASKED if name in self.varying and re.search(pattern, self.question)), "")
        return found or ("algorithm" if "algorithm" in self.varying and self.has_ports else "")

    @property
    def has_ports(self):
        return any(words.PORTS.search(contest.head.get("algorithm") or "") for contest in self.contests)

    @functools.cached_property
    def is_over_late(self):
        """Whether curves go over how late ranks are: the question is of this, and rows have one size."""
        return self.asked == "late" and len({contest.bytes for contest in self.contests if contest.bytes}) == 1

    def x_of(self, contest):
        if self.is_over_late:
            return words.late_us(contest.head)
        return contest.head["ranks"] if self.is_over_ranks else contest.bytes

    @property
    def x_name(self):
        """What x_of() is."""
        return "how late a rank is" if self.is_over_late else "number of ranks" if self.is_over_ranks else \
            "message size of the operation"

    def x_text(self, place):
        if self.is_over_late:
            return words.time(place) if place else "not late"
        return str(place) if self.is_over_ranks else words.size(place) if place else "no bytes"

    @functools.cached_property
    def axes(self):
        """What differs between groups: neither the bytes, nor what curves go over."""
        over = "late" if self.is_over_late else "ranks" if self.is_over_ranks else ""
        return [name for name in self.varying if name != over]

    @functools.cached_property
    def is_curve(self):
        """Whether every group has so many points along the axis that a line can be drawn."""
        if self.asked:  # (side by side, in one panel)
            return len({self.x_of(contest) for contest in self.contests}) > 1
        return all(len({self.x_of(contest) for contest in contests}) >= CURVE_SIZES - self.is_over_ranks and
                   all(self.x_of(contest) for contest in contests) for contests in self.groups.values())

    def group_of(self, contest, without=""):
        """What tells it apart from contests of other groups, in words: "ibcast, 4 ranks". Without an axis."""
        parts = [words.axis(name, contest.head.get(name)) for name in self.axes if name != without]
        if self.is_over_ranks and len({one.bytes for one in self.contests}) > 1:
            parts.append(words.size(contest.bytes) if contest.bytes else "")
        return ", ".join(filter(None, parts))

    @functools.cached_property
    def groups(self):
        """Contests by group, each sorted by bytes."""
        groups = {}
        for contest in self.contests:
            groups.setdefault(self.group_of(contest), []).append(contest)
        return {name: sorted(contests, key=self.x_of) for name, contests in groups.items()}

    @functools.cached_property
    def baseline(self):
        return self.contests[0].baseline.name

    @functools.cached_property
    def simulated(self):
        """The simulated lines that are drawn beside a measured member of the same contest."""
        return [line for line in self.all_simulated if self.is_of_this_metric(line) and
                any(is_beside(line, contest, member.name) for contest in self.contests for member in contest.members)]

    @functools.cached_property
    def simulated_alone(self):
        """Those beside which nothing was measured: of other numbers of ranks, of other members, in another metric."""
        return [line for line in self.all_simulated if line not in self.simulated] if self.contests else []

    def is_of_this_metric(self, line):
        wanted = self.says if self.says in ("hidden", "ratio") else ""
        return METRICS.get(line["metric"], "") == wanted and \
            bool(wanted or line["metric"] in ("time_us", self.contests[0].column() + "_us"))

    def simulated_of(self, contest, name):
        """A simulated value of this member in this contest, or None. The last one counts."""
        found = [line for line in self.simulated if is_beside(line, contest, name)]
        return found[-1]["value"] if found else None

    @property
    def parts(self):
        """The columns that are stacked in this figure: what an overlapped operation costs in the library's calls, or
        CPU time by who used it; (): the figure is of one column."""
        wanted = {"start": ("start", "tests", "wait"), "cpu": ("user", "system"), "idle": ("user", "system")}.get(
            self.says, ())
        contest = self.contests[0]
        if not wanted or self.scenario.get("column") or self.busy_waiting or (self.says == "start" and not contest.baseline.computes()):
            return ()
        return wanted if set(wanted) <= set(contest.head["columns"]) else ()

    @property
    def busy_waiting(self):
        """The CPU time, in us, of a rank that spins until a late one has come; 0: the figure is of something else."""
        head = self.contests[0].head
        late = head.get("late") or {}
        if self.contests[0].column() != "cpu" or "late" in self.varying or self.contests[0].baseline.computes() or \
                late.get("who") in (None, "all", "none") or late.get("distribution", "constant") != "constant":
            return 0
        return words.microseconds(late.get("by") or 0)

    @property
    def undisturbed(self):
        return [contest for contest in self.contests if not contest.disturbed]

    @functools.lru_cache(maxsize=None)
    def decided(self, name, reference=None):
        """The rows that tell something of a member beside a reference (a name; else the baseline), with the member."""
        found = [(contest, contest.member(name)) for contest in self.contests]
        return [(contest, member) for contest, member in found
                if member is not None and contest.decides(member, reference)]

    @property
    def decided_rows(self):
        """Those that tell something of a member that is compared."""
        reference = self.compared[0]
        return [contest for contest in self.contests
                if any(contest.decides(member, reference) for member in contest.members)]

    def by_ports(self):
        """Pairs of contests that differ in the ports of their algorithm only: with more, with one."""
        def key(contest):
            return self.group_of(contest, without="algorithm"), words.PORTS.sub("", contest.head.get("algorithm") or ""), \
                contest.bytes, contest.head["ranks"]

        def ports(contest):
            return words.PORTS.search(contest.head.get("algorithm") or "")
        one = {key(contest): contest for contest in self.contests if not ports(contest)}
        return [(contest, one[key(contest)]) for contest in self.contests if ports(contest) and key(contest) in one]

    @property
    def compared(self):
        """For the headline: with whom, and the others; first those that a rule compares ("compares": [of, to])."""
        first = self.baseline
        for of, to in self.scenario.get("compares") or []:
            if {of, to} <= set(self.members) and of != to:
                return to, [of] + [name for name in self.members if name not in (of, to)]
        return first, [name for name in self.members if name != first]

    @property
    def is_pair_asked(self):
        """Whether a rule compares two members that are there."""
        return any(of != to and {of, to} <= set(self.members) for of, to in self.scenario.get("compares") or [])

    def is_defined(self, value):
        """Whether a value can be what the axis is of: a share that is hidden, or one of a core."""
        return stats.is_share_hidden(value) if self.says == "hidden" else value >= 0 or not self.is_percent

    @property
    def undefined(self):
        """What values the figure has that are not defined, in words; "": all are."""
        if all(contest.is_defined(member) for contest in self.contests for member in contest.members):
            return ""
        return "over 110 % or below -100 %" if self.says == "hidden" else "below 0"

    @functools.cached_property
    def crowding(self):
        """That ranks share cores, in words; "": each may have one of its own."""
        cores = self.run.head["host"].get("cpus")
        ranks = {member.head["ranks"] for contest in self.contests for member in contest.members}
        crowded = {one for one in ranks if isinstance(cores, int) and one > cores}
        if not crowded:
            return ""
        return "%s ranks share %d core%s: times include waiting for a core%s" % (
            words.span(crowded), cores, "s"[:cores != 1],
            "; a share that is hidden, or of a core, says little there" if self.says == "hidden" or self.is_percent else "")

    @property
    def is_count(self):
        """Whether the figure is of a number of things, not of a time."""
        return self.contests[0].column() in COUNTS

    @property
    def is_percent(self):
        """Whether it is of a share in percent."""
        return self.contests[0].column() in PERCENT

    def text(self, value):
        if self.is_percent:
            return words.percent(value)
        return "%g" % value if self.is_count else words.time(value)

    @property
    def counted(self):
        return COUNTS.get(self.contests[0].column(), "")

    def repetitions(self):
        counts = [len(member.cell.samples) for contest in self.contests for member in contest.members]
        return min(counts), max(counts)

    def is_of_all(self, axis):
        """Whether all members have the same value of it."""
        return len({words.axis(axis, member.head.get(axis)) for contest in self.contests for member in contest.members}) <= 1

    def conditions(self):
        """What is the same for all rows, in words."""
        head = self.contests[0].head
        constant = [words.axis(name, head.get(name)) for name in
                    ("mpi", "collective", "ranks", "nodes", "link", "transport", "algorithm", "call", "progress", "compute",
                     "late") if name not in self.varying and self.is_of_all(name)]
        low, high = self.repetitions()
        counts = str(high) if low == high else "%d to %d" % (low, high)
        if len({contest.bytes for contest in self.contests}) == 1 and self.contests[0].bytes:
            constant.insert(1, words.size(self.contests[0].bytes))
        return ", ".join(filter(None, constant + [counts + " repetitions"]))


def is_beside(line, contest, name):
    """Whether a simulated line is of this member in this contest."""
    head = contest.head
    return (line["member"] == name and line["collective"] == head["collective"] and line["ranks"] == head["ranks"] and
            line["bytes"] in (contest.bytes, head["bytes"]) and
            all(line[axis] == (head.get(axis) or 0) for axis in ("nodes",) if axis in line))


def experiments(runs, interruption):
    """Those of a file, in the order of its lines; also those of which nothing was measured."""
    together = {}  # runs of one scenario with MPIs are one experiment
    for at, run in enumerate(runs):
        names = dict.fromkeys([cell.head["scenario"] for cell in run.cells.values()] + list(run.head["scenarios"]))
        for name in names:
            together.setdefault((name, "MPIs" if run.head.get("mpi") else at), []).append(run)
    simulated = [line for run in runs for line in run.simulated]
    found = []
    for (name, _), several in together.items():
        for same in parts_without_twice(several, name):
            found.append(Experiment(name, same, interruption,
                                    [line for line in simulated if line["scenario"] == name]))
            views = [Experiment(name, same, interruption, view=view) for view in found[-1].scenario.get("views") or []]
            found += [one for one in views if one.contests]  # (older samples may lack its columns)
    return found


def parts_without_twice(runs, name):
    """Runs in order, in lists in which nothing is measured twice: an MPI is in a list by one run, or by the jobs of one
    command."""
    lists = []
    for run in runs:
        for one in lists:
            if all(are_jobs_of_one_command(run, other, name) for other in one if mpi_of(other) == mpi_of(run)):
                one.append(run)
                break
        else:
            lists.append([run])
    return lists


def mpi_of(run):
    return words.mpi_name(run.head.get("mpi") or "")


def are_jobs_of_one_command(run, other, name):
    def measured(one):
        return {(cell.head["contest"], cell.head["member"]) for cell in one.cells.values()
                if cell.head["scenario"] == name}
    return all(run.head[key] == other.head[key] for key in ("command", "date")) and not measured(run) & measured(other)
