"""Judges the ledger's rules about `weft bench` by samples (docs/measuring.md). Medians, intervals and shares are the report's."""

import copy
import statistics

from . import conditions, samples, stats, words
from .experiment import PERCENT as SHARES, experiments

MPIS = ("mpich", "openmpi", "impi")
# Axes that must be the same in both cells of a quotient, unless the rule's conditions choose them.
SAME = ("collective", "algorithm", "bytes", "ranks", "nodes", "link", "transport", "compute", "late", "barrier", "timer",
        "settings")
PERCENT = ("hidden",) + SHARES
NUMBERS = ("unexpected", "allocations")  # of messages, of calls


# --- One cell ----------------------------------------------------------------------------------------

class Cell:
    """A member in a contest."""

    def __init__(self, experiment, contest, member, less=None):
        self.experiment = experiment
        self.contest = contest
        self.member = member
        self.head = member.head
        self.less = less  # the cell whose times are taken from this one's
        self.mpi = contest.head.get("mpi") or experiment.run.head.get("mpi") or ""

    def of(self, member):
        return Cell(self.experiment, self.contest, member, self.less)

    def is_called(self, name):
        """Whether the scenario calls it so. There "mpi" stands for each MPI, which gives its samples their names."""
        whole = self.head["member"]
        first, _, rest = whole.partition(" ")
        given = (("mpi " + rest).strip(), rest) if first in MPIS else (whole,)
        return name in given

    @property
    def own_mpi(self):
        """The MPI that its name begins with: a contest may have several."""
        first = self.head["member"].partition(" ")[0]
        return first if first in MPIS else ""

    def where(self):
        """In words, without what is the same in all cells of the scenario."""
        axes = [axis for axis in self.experiment.varying if axis != "mpi"]
        parts = [words.axis(axis, self.head.get(axis)) for axis in axes] or [self.head["collective"]]
        parts += [words.size(self.contest.bytes) if self.contest.bytes else "",
                  "beside " + words.without_version(self.mpi) if self.mpi else ""]
        return ", ".join(filter(None, parts))

    def series(self, metric):
        """By repetition; {}: not measured. (Not of hidden, which is a share of medians.)"""
        times = self.member.times("total" if metric == "ratio" else metric)
        if self.less is None:
            return times
        others = self.less.series(metric)
        return {key: value - others[key] for key, value in times.items() if key in others}

    def estimate(self, metric):
        if metric == "hidden":
            return self.contest.hidden(self.member)
        found = self.series(metric)
        return stats.estimate(found.values(), self.experiment.statistic) if found else None

    def has_turns_with(self, other):
        """Whether both are in one job of a contest; each of other settings, ranks or nodes has a job of its own."""
        return all(self.head.get(axis) == other.head.get(axis) for axis in ("ranks", "nodes", "link", "settings"))

    def operation_us(self):
        found = self.estimate("blocking")
        return found.value if found else None

    def meets_all(self, wanted):
        return conditions.meets_all(self.head, wanted, self.operation_us())

    def key(self, without):
        return [self.mpi] + [self.head.get(axis) for axis in SAME if axis not in without]


def compared(of, metric, to, to_metric):
    """The estimate of one / the other, or of shares that are hidden (which may be below 0) the difference in points; None: there is
    none, as the other is not above 0."""
    is_hidden = "hidden" in (metric, to_metric)
    if of.contest is to.contest and of.has_turns_with(to) and not is_hidden:
        return stats.ratio(of.series(metric), to.series(to_metric))
    a, b = of.estimate(metric), to.estimate(to_metric)
    if a is None or b is None or b.value <= 0 and not is_hidden or is_hidden and not all(map(stats.is_share_hidden, (a.value, b.value))):
        return None
    combine = (lambda x, y: x - y) if is_hidden else (lambda x, y: x / y)
    if not a.has_interval or not b.has_interval or b.low <= 0 and not is_hidden:
        return stats.Estimate(combine(a.value, b.value), None, None, [])
    ends = [combine(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return stats.Estimate(combine(a.value, b.value), min(ends), max(ends), [])


def is_of_two(rule):
    """Whether it compares two cells; otherwise it is about a value, such as the share of a member's own time."""
    return "to" in rule and (rule["to"] != rule["of"] or "to_where" in rule)


def is_percent(rule):
    return rule["metric"] in PERCENT


def is_quotient(rule):
    return "to" in rule and rule["metric"] != "hidden"


def aa_of(cell, rule):
    """The member measured twice, in what the rule measures (its interval); None: it tells nothing."""
    metric = rule["metric"]
    if cell.contest.again is None:
        return None
    if metric == "hidden" and stats.disturbance(None, cell.estimate(metric).value):
        return None
    again, twin = cell.of(cell.contest.again), cell.of(cell.contest.twin())
    if is_of_two(rule):
        found = compared(again, metric, twin, metric)
    elif "to" in rule:
        found = compared(again, metric, again, rule["to_metric"])
    else:
        found = again.estimate(metric)
    return found if found is not None and found.has_interval else None


# --- The cells of a rule -------------------------------------------------------------------------------

class Finding:
    """What a rule found in one cell, or in a pair. aa: the intervals of what was measured twice there; None: not known.

    state: "holds", "fails", "better" (it fails to the better side), or "open": its interval, or that of chance round a bound, reaches
    the other, or one is not known."""

    def __init__(self, cell, found, aa, rule):
        self.cell = cell
        self.found = found
        self.aa = aa
        self.chance = None if None in aa else chances(aa, rule)
        self.state = state_of(found, self.chance, rule)

    @property
    def counts(self):
        return self.state != "open"


def chances(aa, rule):
    """Round each bound: from where to where chance (A/A) may move what is at the bound."""
    if is_quotient(rule) and is_of_two(rule):
        if any(one.low <= 0 for one in aa):
            return None
        factor = max(max(one.high, 1 / one.low) for one in aa)
        return [(bound / factor, bound * factor) for bound in bounds_of(rule)]
    aside = max(one.high - one.low for one in aa) / 2
    return [(bound - aside, bound + aside) for bound in bounds_of(rule)]


def state_of(found, chance, rule):
    if chance is None or not found.has_interval or any(found.low < high and low < found.high for low, high in chance):
        return "open"
    return "holds" if margin(found.value, rule) >= 0 else "better" if is_better(found, rule) else "fails"


def is_better(found, rule):
    """Whether two members that were to be alike differ in favour of the first."""
    if rule.get("to", rule["of"]) == rule["of"] or not ("at_least" in rule and "at_most" in rule):
        return False
    return found.value > rule["at_most"] if rule["metric"] == "hidden" else found.value < rule["at_least"]


def bounds_of(rule):
    return [rule[name] for name in ("at_least", "at_most") if name in rule]


def margin(value, rule):
    """How far inside the bounds; below 0: outside."""
    return min(([value - rule["at_least"]] if "at_least" in rule else []) +
               ([rule["at_most"] - value] if "at_most" in rule else []))


def less_the_same(name, cells):
    """Cells, less that of this name in the same contest, where there is one."""
    others = {id(cell.contest): cell for cell in cells if cell.is_called(name)}
    return [Cell(cell.experiment, cell.contest, cell.member, others[id(cell.contest)]) for cell in cells
            if id(cell.contest) in others]


def pairs_of(rule, cells):
    """The cells that the rule compares: (of, to), to is None where it is about a value."""
    if "less" in rule:
        cells = less_the_same(rule["less"], cells)
    over = rule.get("over", [])
    of = [cell for cell in cells if cell.is_called(rule["of"]) and cell.meets_all(over + rule.get("of_where", []))]
    if "to" not in rule:
        return [(cell, None) for cell in of]
    to = [cell for cell in cells if cell.is_called(rule["to"]) and cell.meets_all(over + rule.get("to_where", []))]
    if "to_where" not in rule:
        return [(one, other) for one in of for other in to if one.contest is other.contest and
                "" in (one.own_mpi, other.own_mpi) + ("",) * (one.own_mpi == other.own_mpi)]
    # Of another contest, which differs in what the conditions choose.
    chosen = map(conditions.axis_of, rule.get("of_where", []) + rule["to_where"])
    free = {"link" if axis in ("rate", "delay") else axis for axis in chosen}
    if free & {"ranks", "nodes"}:
        free.add("transport")  # which depends on the place
    return [(one, other) for one in of for other in to if one.key(free) == other.key(free)]


def findings_of(rule, cells):
    """Findings, and how many pairs have none."""
    found, without = [], 0
    for of, to in pairs_of(rule, cells):
        value = of.estimate(rule["metric"]) if to is None else \
            compared(of, rule["metric"], to, rule.get("to_metric", rule["metric"]))
        if value is None:
            without += 1
            continue
        found.append(Finding(of, value, [aa_of(cell, rule) for cell in ((of,) if to is None or to.contest is of.contest else (of, to))],
                             rule))
    return found, without


# --- The verdict ----------------------------------------------------------------------------------------

MANY = 24  # cells from which on a median has an interval of its own


def together(findings, rule):
    """The mean or median of the cells as one finding; None: the same measured twice is known in less than half of them."""
    known = [one for one in findings if one.chance is not None and one.found.has_interval]
    if 2 * len(known) < len(findings) or not known:
        return None
    middle = {"mean": statistics.fmean, "median": statistics.median}[rule["cells"]]
    whole = copy.copy(known[0])
    whole.found = stats.Estimate(*(middle([getattr(one.found, end) for one in known]) for end in ("value", "low", "high")), [])
    whole.chance = [tuple(statistics.median(one.chance[at][end] for one in known) for end in (0, 1)) for at in range(len(bounds_of(rule)))]
    if len(known) >= MANY and is_quotient(rule) and rule["cells"] == "median":  # (chance differs by cell: its median is near 1)
        whole.found = stats.estimate([one.found.value for one in known])
        whole.chance = chances([stats.estimate([one.aa[0].value for one in known])], rule)
    whole.state = state_of(whole.found, whole.chance, rule)
    return whole


def figure(value, rule):
    if is_quotient(rule) or rule["metric"] in NUMBERS:
        return "%.3g" % value
    if rule["metric"] in PERCENT:
        return "%+.0f points" % value if "to" in rule else "%.3g %%" % value
    return ("-" if value < 0 else "") + words.time(abs(value))


def with_interval(found, rule):
    text = figure(found.value, rule)
    return text + " (%s to %s)" % (figure(found.low, rule), figure(found.high, rule)) if found.has_interval else text


def bounds_words(rule):
    return " and ".join("%s %s" % (name.replace("_", " "), figure(rule[name], rule))
                        for name in ("at_least", "at_most") if name in rule)


def measured_words(rule):
    text = "%s of %s" % (rule["metric"].replace("_", " "), rule["of"])
    text += ", less that of %s," % rule["less"] if "less" in rule else ""
    if "to" in rule:
        text += (" / " if is_quotient(rule) else " - ") + "%s of %s" % (rule.get("to_metric", rule["metric"]).replace("_", " "), rule["to"])
    return text


class Judged:
    """A verdict, and why: its findings (those that count have a state), and how many pairs have no value."""

    def __init__(self, verdict, why, run=None, findings=(), without=0, whole=None):
        self.verdict = verdict
        self.why = why
        self.findings = list(findings)
        self.without = without
        self.whole = whole  # their mean or median, if the rule is about that
        self.date = run.head["date"][:10] if run else ""
        host = run.head["host"] if run else {}
        self.machine = "%s cores, %s, Linux %s" % (host.get("cpus", "?"), host.get("cpu", "unknown CPU"),
                                                   host.get("kernel", "?"))


def judge(rule, measured):
    """Judges a rule by the experiments of its scenario."""
    run = measured[0].run
    cells = [Cell(one, contest, member) for one in measured for contest in one.contests
             for member in contest.members + ([contest.again] if contest.again else [])]
    findings, without = findings_of(rule, cells)
    if not findings:
        lines = [line for one in measured for line in one.missing]
        names = (rule["of"], rule.get("to"))
        named = [line for line in lines if line.get("member") in names or not line.get("member")]
        reasons = list(dict.fromkeys("%s: %s" % (line.get("member", "all"), line["why"]) for line in named))
        if without:
            reasons.append("%s has no value there" % measured_words(rule))
        return Judged("cannot be seen here", "all its cells are missing" + "".join("; " + one for one in reasons), run, [], without)
    clear = [one for one in findings if one.counts]
    how = rule["cells"]
    whole = together(findings, rule) if how in ("mean", "median") else None
    verdict = verdict_of(rule, findings, clear, whole)
    worst = (max if how == "any" else min)(clear or findings, key=lambda one: margin(one.found.value, rule))
    text = measured_words(rule)
    if whole:
        text += ", %s of the cells: %s" % (how, with_interval(whole.found, rule))
    text += "%s %s cell: %s" % (";" if whole else ",", "the best" if how == "any" else "the worst", with_interval(worst.found, rule))
    where = worst.cell.where()
    text += " (%s)" % where if where else ""
    text += "; %s asked" % bounds_words(rule)
    text += "; %d of %d cells hold" % (sum(one.state == "holds" for one in clear), len(clear)) if len(findings) > 1 and clear else ""
    if len(clear) < len(findings):
        text += "; %d of %d cells do not count: the bound is within their interval, widened by chance (A/A), or that is not " \
                "known" % (len(findings) - len(clear), len(findings))
    text += "; %d cells have no value" % without if without else ""
    text += "; " + rule["unreachable"] if rule.get("unreachable") else ""
    return Judged(verdict, text, run, findings, without, whole)


def verdict_of(rule, findings, clear, whole):
    how, states = rule["cells"], {one.state for one in ([whole] if whole else clear)}
    if how == "any" and "holds" in states:
        return "confirmed"
    if rule.get("unreachable") and "fails" in states:
        return "cannot be seen here"  # (the set-up could not have passed)
    if how == "all" and "fails" in states:
        return "not confirmed"  # one counterexample that chance cannot explain
    if whole is None and (2 * len(clear) < len(findings) or not clear or how in ("mean", "median")) or states == {"open"}:
        return "cannot be seen here"
    return "not confirmed" if how == "any" or "fails" in states else "better than asked" if "better" in states else "confirmed"


def read(files):
    """The experiments of files of samples, by scenario."""
    found = {}
    for file in files:
        runs, interruption = samples.read(file)
        for one in experiments(runs, interruption):
            found.setdefault(one.name, []).append(one)
    return found


def judge_all(ledger, files):
    """For each item with a rule about samples: (item, Judged), or (item, None) where a reader has to judge."""
    measured = read(files)
    for item in (item for paper in ledger for item in paper["items"]):
        rule = item.get("rule", {})
        if rule.get("scenario") in measured and not item.get("ruled_out"):
            yield item, None if rule.get("in_words") else judge(rule, measured[rule["scenario"]])
