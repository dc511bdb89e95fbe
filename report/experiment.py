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
ASKED = (("late", r"\blate\b|\bskew"), ("timer", r"\btimer\b"), ("barrier", r"\bbarrier\b"), ("algorithm", r"algorithm|\bleader|\bgroups?\b|\bports?\b|\brounds\b|\bflat\b"))
LINES_MAX = 5    # of a panel; more are rows with their numbers
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

    def drawn_column(self, member):
        is_of_parts = self.scenario.get("says") == "start" and not self.scenario.get("column") and member.computes()
        return "overhead" if is_of_parts else self.column()

    def twice(self, column):
        """The ratio of a member to itself in a column; None: not measured."""
        return stats.ratio(self.again.times(column), self.twin().times(column)) if self.again else None

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


EQUAL = 1.1           # a quotient whose whole interval is within this factor
SHARES_EQUAL = 10     # points
MEASURABLE = 50       # points: a hidden share with a wider interval tells nothing


def is_measurable(share):
    return share is not None and stats.is_share_hidden(share.value) and share.has_interval and share.high - share.low <= MEASURABLE


def state(one, other):
    """How a member (with its contest) is beside another: "less", "more" or "equal", or else "open": it is not decided. This is what
    marks show and what titles count."""
    (contest, member), (place, reference) = one, other
    if contest.scenario.get("says") == "hidden":
        shares = contest.hidden(member), place.hidden(reference)
        if not all(map(is_measurable, shares)):
            return "open"
        more = shares[0].value - shares[1].value
        is_apart = contest.is_share_apart(shares[0], reference) if contest is place else shares[0].is_apart_from(shares[1])
        return ("more" if more > 0 else "less") if is_apart else "equal" if abs(more) <= SHARES_EQUAL else "open"
    value = quotient(one, other)
    if value is None or not value.has_interval or not contest.is_defined(member) or not place.is_defined(reference):
        return "open"
    column = contest.drawn_column(member)
    twice = [found for found in (each.twice(column) for each in dict.fromkeys((contest, place))) if found is not None]
    if all(stats.is_clear(value, aa) for aa in twice or [None]):
        return "less" if value.value < 1 else "more"
    is_calm = twice and all(aa.has_interval and 1 / EQUAL <= aa.low and aa.high <= EQUAL for aa in twice)
    return "equal" if is_calm and 1 / EQUAL <= value.low and value.high <= EQUAL else "open"


def quotient(one, other):
    """Of two members (each with its contest): by repetition where they took turns, else of the medians; None: there is none."""
    (contest, member), (place, reference) = one, other
    column = contest.drawn_column(member)
    if contest is place:
        return stats.ratio(member.times(column), reference.times(column))
    a, b = member.estimate(column), reference.estimate(column)
    if a is None or b is None or b.value <= 0:
        return None
    if not a.has_interval or not b.has_interval or b.low <= 0:
        return stats.Estimate(a.value / b.value, None, None, [])
    return stats.Estimate(a.value / b.value, a.low / b.high, a.high / b.low, [])


class Experiment:
    """A scenario's contests in a run, or in the runs of several MPIs."""

    def __init__(self, name, runs, interruption, simulated=(), view=None):
        """`view`: other fields of the scenario, to draw its samples in another way."""
        self.name = (view or {}).get("name", name)
        self.role = ""  # "verdict", "detail" or "model": see split.py
        self.is_view = view is not None
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
        pairs = self.scenario.get("compares") or []
        if pairs and self.says in ("ratio", "start", "cpu") and "relative to" not in self.question:
            self.scenario["baseline"] = pairs[0][1]  # (axes are relative to what titles are)
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

    def as_a(self, role):
        """The same, drawn in another way."""
        one = copy.copy(self)
        one.role = role
        return one

    @functools.cached_property
    def members(self):
        """Names, in the order of the scenario; not the repeated ones."""
        found = list(dict.fromkeys(member.name for contest in self.contests for member in contest.members))
        order = [member.get("name") for member in self.scenario.get("members") or []]
        return sorted(found, key=order.index) if set(found) <= set(order) else found

    def shown(self, name):
        """How figures call a member: "MPICH blocking"."""
        return self.words_of(name)[0]

    def words_of(self, name):
        if name == "mpi" and self.calls_of(name) == {"blocking"}:
            name = "mpi blocking"
        return words.member(name, words.without_version(self.mpis[0]) if len(self.mpis) == 1 else "")

    def explained(self, name):
        """... with what it is, in the scenario's words ("what") or in ours, and which system of the paper it stands for."""
        shown, meaning = self.words_of(name)
        meaning = next((member["what"] for member in self.scenario.get("members") or []
                        if member.get("name") == name and member.get("what")), meaning)
        known = self.scenario.get("stands_for") or {}
        stands_for = next((known[key] for key in ["%s beside %s" % (name, other) for other in self.members] + [name] if key in known), None)
        return shown + (" (%s)" % meaning if meaning else "") + (": " + stands_for if stands_for else "")

    def calls_of(self, name):
        return {member.head.get("call") for contest in self.contests for member in contest.members if member.name == name}

    @functools.cached_property
    def claims(self):
        """What the paper says about it, with the verdicts."""
        return claims.claims_of(self.scenario, self.is_of_program)

    @property
    def is_of_program(self):
        """Whether whole programs were measured, not operations."""
        return bool(self.contests) and "arguments" in self.contests[0].head

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

    @staticmethod
    def late_of(contest):
        return words.late_us(contest.head)

    def x_of(self, contest):
        if self.is_over_late:
            return words.late_us(contest.head)
        return contest.head["ranks"] if self.is_over_ranks else contest.bytes

    @property
    def x_name(self):
        """What x_of() is."""
        return ("late by up to" if any((one.head.get("late") or {}).get("distribution") for one in self.contests) else "how late a rank is") \
            if self.is_over_late else "number of ranks" if self.is_over_ranks else \
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
        lines = {words.axis(self.asked, one.head.get(self.asked)) for one in self.contests} if self.asked and not self.is_over_late else self.members
        if len(lines) > LINES_MAX:
            return False
        if self.asked:  # (side by side, in one panel)
            return len({self.x_of(contest) for contest in self.contests}) > 1
        return all(len({self.x_of(contest) for contest in contests}) >= CURVE_SIZES - self.is_over_ranks and
                   all(self.x_of(contest) for contest in contests) for contests in self.by_group().values())

    def collective_of(self, contest):
        """Without the i of nonblocking ones where all calls are blocking ones."""
        name = words.axis("collective", contest.head.get("collective"))
        calls = {member.head.get("call") for one in self.contests for member in one.members}
        return name[1:] if calls == {"blocking"} and name.startswith("i") else name

    def group_of(self, contest, without=""):
        """What tells it apart from contests of other groups, in words: "ibcast, 4 ranks". Without an axis."""
        parts = [self.collective_of(contest) if name == "collective" else words.axis(name, contest.head.get(name))
                 for name in self.axes if name != without]
        if self.is_over_ranks and len({one.bytes for one in self.contests}) > 1:
            parts.append(words.size(contest.bytes) if contest.bytes else "")
        return ", ".join(filter(None, parts))

    def by_group(self):
        found = {}
        for contest in self.contests:
            found.setdefault(self.group_of(contest), []).append(contest)
        return found

    @property
    def is_by_row(self):
        """Whether what the question compares has rows, not lines."""
        return bool(self.asked) and not self.is_over_late and not self.is_curve

    def row_group(self, contest):
        if not self.is_by_row:
            return self.group_of(contest)
        size = words.size(contest.bytes) if contest.bytes else ""
        return ", ".join(filter(None, (self.group_of(contest, self.asked), size)))

    @functools.cached_property
    def groups(self):
        """Contests by group, each sorted by bytes."""
        groups = {}
        for contest in self.contests:
            groups.setdefault(self.row_group(contest), []).append(contest)
        return {name: contests if self.is_by_row else sorted(contests, key=self.x_of) for name, contests in groups.items()}

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
    def compared(self):
        """For the headline: with whom, and the others; first those that a rule compares ("compares": [of, to])."""
        first = self.baseline
        for of, to in (self.scenario.get("compares") or []) * ("relative to" not in self.question):
            if {of, to} <= set(self.members) and of != to:
                return to, [of] + [name for name in self.members if name not in (of, to)]
        return first, [name for name in self.members if name != first]

    @functools.lru_cache(maxsize=None)
    def partner(self, contest, member):
        """With what a member is compared, (contest, member): with another, or in another contest where the question asks for that;
        None: it is that itself."""
        if self.asked:
            key = self.key_of(contest)
            found = next((one for one in self.contests if self.is_first(one) and self.key_of(one) == key), None)
            other = found.member(member.name) if found and not self.is_first(contest) else None
            return (found, other) if other else None
        reference = contest.member(self.compared[0])
        return None if reference in (None, member) else (contest, reference)

    def is_first(self, contest):
        """Whether the others along the axis that the question asks for are compared with it."""
        if self.asked == "late":
            return not words.late_us(contest.head)
        if self.has_ports:
            return not words.PORTS.search(contest.head.get("algorithm") or "")
        return contest.head.get(self.asked) == self.contests[0].head.get(self.asked)

    def key_of(self, contest):
        """What it has in common with the one it is compared with."""
        head = contest.head
        return [words.axis(name, head.get(name)) for name in AXES if name != self.asked] + [contest.bytes] + \
            [words.PORTS.sub("", head.get("algorithm") or "")] * self.has_ports

    def state(self, contest, member):
        """See state(); "": it is compared with nothing."""
        other = self.partner(contest, member)
        return state((contest, member), other) if other else ""

    def is_open(self, contest, member):
        """Whether its mark is hollow: a difference is not decided; of one member, the same measured twice differed."""
        if len(self.members) == 1 and not self.asked:
            return bool(contest.disturbed)
        return self.state(contest, member) == "open"

    @property
    def compared_with(self):
        """What most members are compared with, in words."""
        if self.asked == "late":
            return "that without late ranks"
        if self.has_ports and self.asked:
            return "one port"
        if self.asked:
            name = words.axis(self.asked, self.contests[0].head.get(self.asked))
            return name.removeprefix("algorithm ").removeprefix("algorithms ") or "the default algorithm"
        return self.shown(self.compared[0])

    def is_defined(self, value):
        """Whether a value can be what the axis is of: a share that is hidden, or one of a core."""
        if self.says == "hidden":
            return stats.is_share_hidden(value)
        cores = self.run.head["host"].get("cpus")
        return not self.is_percent or 0 <= value <= (100 * cores if isinstance(cores, int) else value)

    @property
    def undefined(self):
        """What values the figure has that are not defined, in words; "": all are."""
        return "over 110 % or below -100 %" if self.says == "hidden" else "below 0, or of more cores than there are"

    @functools.cached_property
    def crowding(self):
        """That ranks share cores, in words; "": each may have one of its own."""
        cores = self.run.head["host"].get("cpus")
        ranks = {member.head["ranks"] for contest in self.contests for member in contest.members}
        crowded = {one for one in ranks if isinstance(cores, int) and one > cores}
        if not crowded:
            return ""
        return "%s ranks share %d core%s, so times include waiting for a core" % (words.span(crowded), cores, "s"[:cores != 1])

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
        constant = [self.collective_of(self.contests[0]) if name == "collective" else words.axis(name, head.get(name)) for name in
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
