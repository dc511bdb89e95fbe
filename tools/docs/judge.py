"""Judges the ledger's rules about `weft bench` by samples (docs/measuring.md). Medians, intervals and shares are the report's."""

import os
import statistics
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from report import conditions, samples, stats, words  # noqa: E402
from report.experiment import PERCENT as SHARES, experiments  # noqa: E402

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


def quotient(of, metric, to, to_metric):
    """The estimate of one / the other; None: there is none, as the other is not above 0."""
    if of.contest is to.contest and of.has_turns_with(to) and "hidden" not in (metric, to_metric):
        return stats.ratio(of.series(metric), to.series(to_metric))
    a, b = of.estimate(metric), to.estimate(to_metric)
    if a is None or b is None or b.value <= 0:
        return None
    if not a.has_interval or not b.has_interval or b.low <= 0:
        return stats.Estimate(a.value / b.value, None, None, [])
    ends = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
    return stats.Estimate(a.value / b.value, min(ends), max(ends), [])


def is_of_two(rule):
    """Whether it compares two cells; otherwise it is about a value, such as the share of a member's own time."""
    return "to" in rule and (rule["to"] != rule["of"] or "to_where" in rule)


def aa_width(cell, rule):
    """How wide the interval of the member measured twice is, in what the rule measures; None: it tells nothing."""
    metric = rule["metric"]
    if cell.contest.again is None:
        return None
    if metric == "hidden" and stats.disturbance(None, cell.estimate(metric).value):
        return None
    again, twin = cell.of(cell.contest.again), cell.of(cell.contest.twin())
    if is_of_two(rule):
        found = quotient(again, metric, twin, metric)
    elif "to" in rule:
        found = quotient(again, metric, again, rule["to_metric"])
    else:
        found = again.estimate(metric)
    return found.high - found.low if found is not None and found.has_interval else None


# --- The cells of a rule -------------------------------------------------------------------------------

class Finding:
    """What a rule found in one cell, or in a pair."""

    def __init__(self, cell, found, width):
        self.cell = cell
        self.found = found
        self.width = width  # of A/A


def bounds_of(rule):
    return [rule[name] for name in ("at_least", "at_most") if name in rule]


def margin(value, rule):
    """How far inside the bounds; below 0: outside."""
    return min(([value - rule["at_least"]] if "at_least" in rule else []) +
               ([rule["at_most"] - value] if "at_most" in rule else []))


def holds(found, rule):
    if rule.get("interval") == "whole":
        return found.has_interval and margin(found.low, rule) >= 0 and margin(found.high, rule) >= 0
    return margin(found.value, rule) >= 0


def effect(found, rule):
    """How large what the rule asks for is: from no difference (1 of a quotient, 0 of a value) to its nearest bound. Where a bound is
    that itself, the rule asks for a direction only: as large as what was found."""
    neutral = 1 if is_of_two(rule) else 0
    nearest = min(abs(bound - neutral) for bound in bounds_of(rule))
    return nearest or abs(found.value - neutral)


def is_clear(finding, rule):
    return finding.width is not None and finding.width <= effect(finding.found, rule)


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
        return [(one, other) for one in of for other in to if one.contest is other.contest]
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
            quotient(of, rule["metric"], to, rule.get("to_metric", rule["metric"]))
        if value is None:
            without += 1
            continue
        widths = [aa_width(cell, rule) for cell in ((of,) if to is None or to.contest is of.contest else (of, to))]
        found.append(Finding(of, value, None if None in widths else max(widths)))
    return found, without


# --- The verdict ----------------------------------------------------------------------------------------

def together(findings, how):
    """The mean or median of the cells."""
    middle = {"mean": statistics.fmean, "median": statistics.median}[how]
    found = [one.found for one in findings]
    ends = [middle(values) if None not in values else None
            for values in ([one.low for one in found], [one.high for one in found])]
    return stats.Estimate(middle([one.value for one in found]), *ends, [])


def figure(value, rule):
    if "to" in rule or rule["metric"] in NUMBERS:
        return "%.3g" % value
    return "%.3g %%" % value if rule["metric"] in PERCENT else \
        ("-" if value < 0 else "") + words.time(abs(value))


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
        text += " / %s of %s" % (rule.get("to_metric", rule["metric"]).replace("_", " "), rule["to"])
    return text


class Judged:
    def __init__(self, verdict, why, run=None):
        self.verdict = verdict
        self.why = why
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
        return Judged("cannot be seen here", "all its cells are missing" + "".join("; " + one for one in reasons), run)
    clear = [one for one in findings if is_clear(one, rule)]
    how = rule["cells"]
    inside = [one for one in clear if holds(one.found, rule)]
    verdict = verdict_of(how, rule, findings, clear, inside)
    shown = clear or findings
    worst = (max if how == "any" else min)(shown, key=lambda one: margin(one.found.value, rule))
    text = measured_words(rule)
    if how in ("mean", "median"):
        text += ", %s of the cells: %s" % (how, with_interval(together(shown, how), rule))
        text += "; the worst cell %s" % with_interval(worst.found, rule)
    else:
        text += ", %s cell: %s" % ("the best" if how == "any" else "the worst", with_interval(worst.found, rule))
    where = worst.cell.where()
    text += " (%s)" % where if where else ""
    text += "; %s asked" % bounds_words(rule)
    text += "; %d of %d cells hold" % (len(inside), len(clear)) if len(findings) > 1 and clear else ""
    if len(clear) < len(findings):
        text += "; %d of %d cells do not count, as chance (A/A) there is as large as the effect, or not known" % (
            len(findings) - len(clear), len(findings))
    text += "; %d cells have no value" % without if without else ""
    return Judged(verdict, text, run)


def verdict_of(how, rule, findings, clear, inside):
    is_seen = 2 * len(clear) >= len(findings) and clear
    if how == "any" and inside:
        return "confirmed"
    if how == "all" and len(inside) < len(clear):
        return "not confirmed"  # one counterexample that chance cannot explain
    if not is_seen:
        return "cannot be seen here"
    if how in ("mean", "median"):
        return "confirmed" if holds(together(clear, how), rule) else "not confirmed"
    return "confirmed" if how == "all" else "not confirmed"


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
