"""Experiments: the cells of one scenario in one run, grouped into contests (the rows of tables and figures)."""

import functools

from . import stats
from . import words

# What can tell contests apart, other than the bytes: the axes of a scenario, as its cells have them.
AXES = ("collective", "algorithm", "ranks", "nodes", "link", "transport", "compute", "late", "progress", "call",
        "barrier", "timer", "cores", "segment")


# Columns that are no times.
COUNTS = {"allocations": "allocations"}


class Member:
    """One member in one contest: the estimates that tables and figures take."""

    def __init__(self, cell, experiment):
        self.name = cell.head["member"]
        self.head = cell.head
        self.is_again = bool(cell.head.get("again"))
        self.cell = cell
        self.of_all_ranks = experiment.of_all_ranks
        self.statistic = experiment.statistic

    @functools.lru_cache(maxsize=None)
    def times(self, column):
        """By repetition, the slowest rank's; or, if the scenario says so, by repetition and rank."""
        if column not in self.head["columns"]:
            return {}
        at = self.head["columns"].index(column)
        found = {}
        for sample in self.cell.samples:
            values = [rank[at] for rank in sample["ranks"]]
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


class Contest:
    """Cells that took turns with each other: they differ in the member only."""

    def __init__(self, members, scenario):
        self.members = [member for member in members if not member.is_again]
        self.again = next((member for member in members if member.is_again), None)
        self.scenario = scenario
        if not self.members:  # only the repeated one is there
            self.members = [self.again]
            self.again = None
        names = [member.name for member in self.members]
        self.baseline = self.members[names.index(scenario["baseline"])
                                     if scenario.get("baseline") in names else 0]
        self.head = self.baseline.head
        self.bytes = self.head["bytes"] if self.head["collective"] != "ibarrier" else 0  # a barrier has none

    def column(self):
        """The time that this scenario is about."""
        named = self.scenario.get("column")
        if named:
            return named
        says = self.scenario.get("says")
        if says in ("cpu", "start"):
            return says
        return "total" if "total" in self.head["columns"] else "blocking"

    def is_measured(self):
        """Whether there is something to draw."""
        if self.scenario.get("says") == "hidden":
            return any(self.hidden(member) for member in self.members)
        return bool(self.baseline.times(self.column()))

    def hidden(self, member):
        blocking = self.baseline if self.scenario.get("blocking") == "baseline" else member
        return stats.hidden(member.times("work"), blocking.times("blocking"), member.times("total"))

    def ratio(self, member):
        return stats.ratio(member.times(self.column()), self.baseline.times(self.column()))

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
    def __init__(self, name, run, interruption):
        self.name = name
        self.run = run
        self.interruption = interruption
        self.scenario = run.head["scenarios"][name]
        self.question = self.scenario.get("question") or name
        self.says = self.scenario.get("says") or "time"
        statistic = self.scenario.get("statistic") or {}
        self.statistic = statistic.get("repetitions", "median")
        self.of_all_ranks = statistic.get("ranks") == "all"
        self.missing = [line for line in run.missing if line["scenario"] == name]
        self.switches = [line for line in run.switches if line["scenario"] == name]
        by_contest = {}
        for cell in run.cells.values():
            if cell.head["scenario"] == name and cell.samples:
                by_contest.setdefault(cell.head["contest"], []).append(Member(cell, self))
        contests = [Contest(members, self.scenario) for members in by_contest.values()]
        self.contests = [contest for contest in contests if contest.is_measured()]
        if contests and not self.contests:
            self.missing.append({"scenario": name, "why": "its samples have no times of this kind"})

    @functools.cached_property
    def members(self):
        """Names, in the order of the scenario; not the repeated ones."""
        return list(dict.fromkeys(member.name for contest in self.contests for member in contest.members))

    def explained(self, name):
        """A member's name with what it is: in the scenario's words ("what"), or in ours."""
        given = next((member.get("what") for member in self.scenario.get("members") or []
                      if member.get("name") == name), None)
        return "%s (%s)" % (name, given) if given else words.member(name)

    @functools.cached_property
    def axes(self):
        """What differs between contests, other than the bytes."""
        return [name for name in AXES
                if len({words.axis(name, contest.head.get(name)) for contest in self.contests}) > 1]

    def group_of(self, contest):
        """What tells it apart from contests of other groups, in words: "ibcast, 4 ranks"."""
        return ", ".join(filter(None, (words.axis(name, contest.head.get(name)) for name in self.axes)))

    @functools.cached_property
    def groups(self):
        """Contests by group, each sorted by bytes."""
        groups = {}
        for contest in self.contests:
            groups.setdefault(self.group_of(contest), []).append(contest)
        return {name: sorted(contests, key=lambda contest: contest.bytes) for name, contests in groups.items()}

    @functools.cached_property
    def baseline(self):
        return self.contests[0].baseline.name

    @property
    def undisturbed(self):
        return [contest for contest in self.contests if not contest.disturbed]

    @property
    def is_count(self):
        """Whether the figure is of a number of things, not of a time."""
        return self.contests[0].column() in COUNTS

    def text(self, value):
        return "%g" % value if self.is_count else words.time(value)

    @property
    def counted(self):
        return COUNTS.get(self.contests[0].column(), "")

    def repetitions(self):
        counts = [len(member.cell.samples) for contest in self.contests for member in contest.members]
        return min(counts), max(counts)

    def conditions(self):
        """What is the same for all rows, in words."""
        head = self.contests[0].head
        constant = [words.axis(name, head.get(name)) for name in
                    ("collective", "ranks", "nodes", "link", "transport", "algorithm", "call", "progress", "compute",
                     "late") if name not in self.axes]
        low, high = self.repetitions()
        counts = str(high) if low == high else "%d to %d" % (low, high)
        if len({contest.bytes for contest in self.contests}) == 1 and head["bytes"]:
            constant.insert(1, words.size(head["bytes"]))
        return ", ".join(filter(None, constant + [counts + " repetitions"]))


def experiments(runs, interruption):
    """Those of a file, in the order of its lines; also those of which nothing was measured."""
    found = []
    for run in runs:
        names = dict.fromkeys([cell.head["scenario"] for cell in run.cells.values()] + list(run.head["scenarios"]))
        found += [Experiment(name, run, interruption) for name in names]
    return found
