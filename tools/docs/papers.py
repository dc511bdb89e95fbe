"""Writes docs/papers.md, the ledger of what five papers say and what answers it here, from docs/papers/*.json.

usage: papers.py PROGRAM [--check [FOLDER] | --judge]
       papers.py --samples FILE... [--write [FOLDER]]

PROGRAM is a built weft. --check writes nothing: it fails if the page is not what would be written, or an item
names what does not exist, lacks a command and a reason, or has another verdict than its rule gives now, where the
rule is about output that is always the same; with a FOLDER the ledger there is checked, and no page. --judge prints
what each such rule finds. --samples judges the rules about `weft bench` by files of samples; with --write the
verdicts go into the ledger (of FOLDER).
"""

import functools
import glob
import json
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(ROOT)
from report import conditions  # noqa: E402

LEDGER = "docs/papers"
PAGE = "docs/papers.md"
SCENARIOS = "bench/scenarios"

KINDS = {
    "figure": "Figures", "table": "Tables", "listing": "Listings", "equation": "Equations",
    "algorithm": "Algorithms", "interface": "Interfaces", "method": "Methods of measurement",
    "finding": "Findings", "open problem": "Open problems", "future work": "Future work",
}
VERDICTS = ("confirmed", "better than asked", "not confirmed", "cannot be seen here", "not run")
# What a rule may measure, in the columns of samples, of the slowest rank.
METRICS = {
    "blocking": "start and wait at once, or the blocking call",
    "work": "the computation alone",
    "start": "the time in the start",
    "tests": "the time in tests",
    "wait": "the time in the wait",
    "overhead": "start + tests + wait of a rank: what the program loses",
    "delivery": "from the last rank's start until the last rank has its result",
    "total": "start, computation and wait",
    "hidden": "100 (work + blocking - total) / min(work, blocking), in percent",
    "ratio": "total, or blocking where nothing is computed",
    "cpu": "CPU time of all threads of the process",
    "user": "... of it, in the program",
    "system": "... of it, in the kernel",
    "cpu_share": "100 cpu / total, in percent",
    "cpu_outside": "100 (cpu - work) / total, in percent",
    "idle": "total - cpu",
    "idle_share": "100 - cpu_share, in percent",
    "unexpected": "the number of messages that came before their receive was posted",
}
CELLS = ("all", "any", "mean", "median")
FIELDS = {"id", "kind", "where", "says", "finds", "files", "command", "rule", "verdict", "ruled_out", "missing"}
BOUNDS = ("at_least", "at_most")

INTRODUCTION = """\
# The papers, item by item

This page is written by `./dev docs` from `docs/papers/*.json`: change those, not this page.

It lists every figure, table, listing, equation, algorithm, interface, method of measurement, finding, open problem and
piece of future work of five papers on nonblocking collectives, in our words; with what answers it here, the command that
shows it, and the last verdict. A rule decides the verdict; it is in the data, and under *shown by* where it is not just that
a test passes. Rules of measurements (`weft bench`) were written before any run, but for two things that came after it: when a cell
counts (below), and that hidden shares are compared in points; the bounds of simulations, whose output was
known, are the papers' figures with a margin.

- *confirmed*, *not confirmed*: the command was run, and its rule holds, or does not. What is known about the cause of the
  latter follows the figures.
- *cannot be seen here*: the command was run, but this machine cannot show it.
- *not run*: nothing is claimed. The command is there, but has not been run for this page; or what could run is missing,
  and the item says what.
- *ruled out*: no command, for the reason that is given.

Commands that begin with `weft simulate` are simulations, with parameters that are mostly assumed: a verdict about them is one
about the model (`tools/docs/papers.py PROGRAM --judge` prints what all of them find). What figures
show of the model, in panels of its own, is in the data, too (`simulated`). Those that begin with `weft bench` measure all scenarios of a file,
`./dev bench --apps=all` those of the [applications](../apps/README.md); the rule names the one, a member of it, and one of these:

| measured | |
|---|---|
%s

A rule with `in_words` in the data has to be judged by a reader: its words are not columns of samples. `./dev bench --paper NAME`
measures the scenarios of a paper and judges them; `tools/docs/papers.py --samples FILES` judges samples that are there:

- A *cell* is a point of the scenario's axes that meets the rule's conditions. A quotient of two members is taken repetition by
  repetition where they took turns, and of the medians where the rule compares two cells; its interval then reaches from the
  lower end / the upper to the upper / the lower. Shares that are hidden may be below 0: of these the difference is taken, in points.
  A share of a member's own time is a figure like others. *mpi* is each MPI, with cells of its own.
- A cell *counts* if its 95 %% interval does not reach the bound, as far as the same measured twice (A/A, in what the rule measures)
  moves that: a quotient's by a factor, other figures' by half the width of the A/A interval. It does not count without an interval (fewer
  than 6 repetitions), or where an impossible share is hidden (below -100 or above 110 %%). A cell that counts holds, or fails.
- In every cell: one that fails is *not confirmed*. In some cell: one that holds is *confirmed*. Otherwise at
  least half of the cells have to count, or it *cannot be seen here*; nor can it where all cells are missing, or where the set-up could
  not have passed (`unreachable`). A mean or median is of all cells, and counts as a cell does.
- *better than asked*: two members that were to be alike differ, and the first is the faster one in all cells that do not hold.

The samples of measured verdicts are in `docs/results/papers.jsonl.gz`, without those columns that no rule reads. They are of one run of
all five papers, of 62 minutes; three short scenarios of uKACC (3-chain, 5.B-bound, 5.C-knows), for which it had no time, were run
right after it. Those of the applications are in `docs/results/apps.jsonl.gz`, of one run of 19 minutes.
""" % "\n".join("| %s | %s |" % (name.replace("_", " "), text) for name, text in METRICS.items())


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def papers(folder):
    """What the files hold, in the order of their names."""
    return [json.loads(text_of(path)) for path in sorted(glob.glob(os.path.join(folder, "*.json")))]


# --- What is named exists --------------------------------------------------------------------------

@functools.lru_cache(None)
def tests():
    """All tests, as `suite/Test.Name`."""
    found = set()
    for path in glob.glob(os.path.join(ROOT, "tests", "*", "*_test.cpp")):
        suite = os.path.basename(os.path.dirname(path))
        for name in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", text_of(os.path.relpath(path, ROOT)),
                               re.MULTILINE):
            found.add("%s/%s.%s" % (suite, *name))
    return found


@functools.lru_cache(None)
def scenarios():
    """The scenarios of each file, by name."""
    found = {}
    for path in glob.glob(os.path.join(ROOT, SCENARIOS, "**", "*.json"), recursive=True):
        path = os.path.relpath(path, ROOT)
        content = json.loads(text_of(path))
        found[path] = {one.get("name"): one for one in (content if isinstance(content, list) else [content])}
    return found


@functools.lru_cache(None)
def app_scenarios():
    """What `./dev bench --apps=all` measures, by name: the applications' sizes, and figures with members of their own."""
    of_sizes = [{"name": name} for name in ("weft blocking", "weft", "mpi blocking", "mpi", "mpi preload")]
    found = {"app " + app: {"members": of_sizes} for app in json.loads(text_of("apps/sizes.json"))}
    return dict(found, **json.loads(text_of("apps/figures.json")))


@functools.lru_cache(None)
def run(program, command):
    """Status and output of `weft ...`, by the given program."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    done = subprocess.run([program] + shlex.split(command)[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, env=environment, timeout=120)
    return done.returncode, done.stdout.decode(errors="replace")


@functools.lru_cache(None)
def help_of(program, words):
    return run(program, " ".join(words + ("--help",)))


@functools.lru_cache(None)
def has_dev(command):
    """Whether ./dev has this command."""
    return subprocess.run([sys.executable, os.path.join(ROOT, "dev"), command, "--help"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def is_about_apps(command):
    return command.split()[:3] == ["./dev", "bench", "--apps=all"]


def fault_of_command(program, command):
    """What is wrong with the program or subcommand that a command names, or None."""
    words = tuple(shlex.split(command))
    if is_about_apps(command):
        options = re.findall(r'add_argument\("(--[\w-]+)"', text_of("tools/apps.py"))
        unknown = [word for word in words[3:] if word.startswith("--") and word not in options]
        return "unknown options: " + " ".join(unknown) if unknown else None
    if words[:2] in (("./dev", "weft"), ("./dev", "bench")):  # they hand their arguments on
        words = ("weft",) + words[2 if words[1] == "weft" else 1:]
    if words[0] == "./dev":
        if not words[1:] or not has_dev(words[1]):
            return "./dev has no such command"
        if words[1] == "test":
            unknown = [name for name in words[2:] if name not in tests()]
            return "no such test: " + ", ".join(unknown) if unknown or not words[2:] else None
        return None
    if words[0] != "weft" or len(words) < 2:
        return "expected ./dev or weft"
    status, out = help_of(program, words[:2])
    if status != 0:
        return "weft has no subcommand %s" % words[1]
    if words[1] == "bench" and not (words[2:] and words[2] in scenarios()):
        # Not a file of scenarios: a subcommand of its own.
        if not re.search(r"^  %s\s" % re.escape(" ".join(words[2:3]) or "?"), out, re.MULTILINE):
            return "no such scenarios: " + " ".join(words[2:3])
    if words[1:3] == ("simulate", "experiment") and help_of(program, words[:3])[0] != 0:
        return "no experiments"
    options = set(re.findall(r"(?<![\w-])(--?[A-Za-z][\w-]*)", out + (
        help_of(program, words[:3])[1] if words[1:3] == ("simulate", "experiment") else "")))
    unknown = [word for word in words[2:] if re.match(r"--?[A-Za-z]", word) and word.split("=")[0] not in options]
    return "unknown options: " + " ".join(unknown) if unknown else None


# --- Rules -----------------------------------------------------------------------------------------

def is_bounded(rule):
    return any(name in rule for name in BOUNDS)


def is_within(value, rule):
    return rule.get("at_least", value) <= value <= rule.get("at_most", value)


def number_in(program, command, metric):
    match = re.search(r"^%s\s+(?:at most )?(-?[\d.]+)" % re.escape(metric), run(program, command)[1], re.MULTILINE)
    if not match:
        raise ValueError("%s prints no %s" % (command, metric))
    return float(match.group(1))


def rows_of(program, command, table, where):
    status, out = run(program, command + " --format json")
    if status != 0:
        raise ValueError("%s: %s" % (command, out.strip()))
    rows = [row for row in json.loads(out)[table] if all(row[name] == value for name, value in where.items())]
    if not rows:
        raise ValueError("%s: no rows %s" % (command, where))
    return rows


def is_always_the_same(item):
    """Whether the command prints the same whenever it is run, so that the rule can be tried at once."""
    words = item.get("command", "").split()
    return words[:1] == ["weft"] and words[1] in ("schedule", "simulate")


def values_of(program, item):
    """The numbers that the rule is about."""
    rule, command = item["rule"], item["command"]
    if "table" not in rule:
        value = number_in(program, command, rule["metric"])
        if "relative_to" in rule:
            value /= number_in(program, rule["relative_to"], rule["metric"])
        return [value]
    values = []
    for row in rows_of(program, command, rule["table"], rule["where"]):
        value = row[rule["metric"]]
        if "relative_to" in rule:
            base = rule["relative_to"]
            where = dict(base.get("where", {}), **{name: row[name] for name in rule["same"]})
            others = [other[base["metric"]] for other in rows_of(program, command, rule["table"], where)]
            value /= min(others)
        values.append(value)
    return values


def judge(program, item):
    """Whether the rule holds, and what was found."""
    rule = item["rule"]
    if "prints" in rule:
        status, out = run(program, item["command"])
        return status == 0 and rule["prints"] in out, "exit status %d" % status
    values = values_of(program, item)
    holds = (any if rule.get("rows") == "any" else all)(is_within(value, rule) for value in values)
    return holds, ", ".join("%.3g" % value for value in values)


# --- What is simulated for a figure ------------------------------------------------------------------

# Of one operation, as a figure has them, of the numbers of ns that are printed.
SIMULATED = {
    "end": lambda number: number("end") / 1e3,
    "CPU busy": lambda number: number("CPU busy") / 1e3,
    "idle": lambda number: (number("end") - number("CPU busy")) / 1e3,
    "cpu_share": lambda number: 100 * number("CPU busy") / number("end"),
}


def values_simulated(program, one):
    """What an entry of "simulated" gives: (command, row, value). Of a table its rows; else a command for each number of
    ranks and size, whose `metric` may be the share that a computation hides which lasts as long, with looks on the way."""
    if "table" in one:
        for row in rows_of(program, one["command"], one["table"], one["where"]):
            yield one["command"], row, row[one["metric"]] - row.get(one.get("less"), 0)
        return
    for ranks in one["ranks"]:
        for size in one["bytes"]:
            command = one["command"].format(ranks=ranks, bytes=size)
            row = {"ranks": ranks, "bytes": int(conditions.number("bytes", size))}
            number = functools.partial(number_in, program, command)
            if one["metric"] == "overlap":
                end = number("end")
                looks = max(1, ranks * row["bytes"] // one["bytes_a_look"])
                command += " --compute %d --progress host:%d:100" % (end, end // looks)
                yield command, row, number_in(program, command, "overlap")
            else:
                yield command, row, SIMULATED[one["metric"]](number)


def points_simulated(program, one):
    """The lines "simulated" of samples that an entry gives."""
    for command, row, value in values_simulated(program, one):
        words = {name: str(text).replace("_", " ") for name, text in row.items()}
        yield {"kind": "simulated", "scenario": one["scenario"], "member": one["member"].format(**words),
               "collective": one["collective"], "bytes": row["bytes"],
               "ranks": row["ranks"] if "ranks" in row else one["of_ranks"], "nodes": one.get("nodes", 0),
               "metric": one["as"], "value": value, "command": command}


def faults_of_simulated(program, paper):
    faults = []
    for one in paper.get("simulated", []):
        name = "%s, simulated for %s" % (paper["key"], one.get("scenario"))
        if not any(one.get("scenario") in of for of in scenarios().values()):
            faults.append(name + ": no such scenario")
        try:
            if next(points_simulated(program, one), None) is None:  # (one is enough: there are many)
                faults.append(name + ": no points")
        except (KeyError, ValueError) as error:
            faults.append("%s: %s" % (name, error))
    return faults


# --- Faults ----------------------------------------------------------------------------------------

@functools.lru_cache(None)
def planned(program):
    """What `weft bench` would measure of the papers' scenarios in the program: the cells of each."""
    known = sorted(path for path in scenarios() if "/paper/" in path)
    status, out = run(program, " ".join(["weft bench --plan"] + [os.path.basename(path)[:-len(".json")] for path in known]))
    cells, decoder, at = {}, json.JSONDecoder(), 0
    while status == 0 and out[at:].strip():
        job, at = decoder.raw_decode(out, at + len(out[at:]) - len(out[at:].lstrip()))
        for contest in job["contests"]:
            for cell in contest["cells"]:
                cells.setdefault(cell["scenario"], []).append(cell)
    return cells


def faults_of_cells(program, rule):
    """That cells of the scenario meet the conditions, and that what the rule is about is measured there."""
    cells = planned(program).get(rule["scenario"], [])
    if not cells:
        return ["the program has no scenario " + rule["scenario"]]
    faults = []
    for side in [side for side in ("of", "to") if side in rule]:
        wanted = rule.get("over", []) + rule.get(side + "_where", [])
        metric = rule.get(side + "_metric", rule["metric"]) if side == "to" else rule["metric"]
        met = [cell for cell in cells if conditions.meets_all(cell, wanted)]
        if not met:
            faults.append("no cell of %s has %s" % (rule["scenario"], " and ".join(wanted)))
        elif metric in ("hidden", "work", "tests") and not any(map(conditions.computes, met)):
            faults.append("%s, but nobody computes in these cells of %s" % (metric, rule["scenario"]))
        elif metric == "blocking" and any(one.startswith("late") for one in wanted) and all(map(conditions.computes, met)):
            faults.append("blocking is measured without lateness where ranks compute: a condition about late selects nothing")
    return faults


def faults_of_measurement(rule, scenario):
    """Of a rule about samples: that its words can be looked up in them."""
    members = [member.get("name") for member in scenario["members"]]
    faults = ["no member %s in %s" % (rule[name], rule["scenario"]) for name in ("of", "to", "less")
              if name in rule and rule[name] not in members]
    faults += ["unknown metric " + str(rule.get(name)) for name in ("metric", "to_metric")
               if rule.get(name, "start") not in METRICS]
    faults += ["no condition: " + one for name in ("over", "of_where", "to_where") for one in rule.get(name, [])
               if not conditions.is_one(one)]
    if "of" not in rule or rule.get("cells") not in CELLS or not is_bounded(rule):
        faults.append("a rule about samples has of, cells (%s) and a bound" % ", ".join(CELLS))
    return faults


def faults_of_rule(program, item):
    rule = item["rule"]
    if rule == {"test": "passes"}:
        return [] if item["command"].startswith("./dev test ") else ["a rule about a test, without one"]
    if set(rule) == {"prints"} and is_always_the_same(item):
        return []
    path = item["command"].split()[-1]
    if path in scenarios():
        scenario = scenarios()[path].get(rule.get("scenario"))
        if scenario is None:
            return ["no scenario %s in %s" % (rule.get("scenario"), path)]
        if not rule.get("in_words"):
            return faults_of_measurement(rule, scenario) or faults_of_cells(program, rule)
    if is_about_apps(item["command"]):
        scenario = app_scenarios().get(rule.get("scenario"))
        return faults_of_measurement(rule, scenario) if scenario else ["no scenario " + str(rule.get("scenario"))]
    if "metric" in rule and is_bounded(rule):
        return []
    return ["a rule says what is measured (metric) and a bound (at_least, at_most), or that a test passes"]


def faults_of(program, item):
    faults = ["unknown field " + name for name in sorted(set(item) - FIELDS)]
    if item.get("kind") not in KINDS:
        faults.append("unknown kind")
    faults += ["no " + name for name in ("where", "says") if not item.get(name)]
    faults += ["no file " + path for path in item.get("files", [])
               if not os.path.exists(os.path.join(ROOT, path))]
    ways = [name for name in ("command", "ruled_out", "missing") if item.get(name)]
    if not ways or ("ruled_out" in ways and len(ways) > 1):
        return faults + ["expected a command, what is missing, or both; or ruled_out alone"]
    verdict = item.get("verdict", {})
    if ways == ["ruled_out"]:
        return faults + ["a verdict, though it is ruled out"] * bool(verdict)
    if verdict.get("verdict") not in VERDICTS:
        return faults + ["unknown verdict"]
    is_run = verdict["verdict"] != "not run"
    if is_run:
        faults += ["a verdict without " + name for name in ("why", "date", "machine") if not verdict.get(name)]
    elif "date" in verdict:
        faults.append("not run, but with a date")
    if verdict["verdict"] == "not confirmed" and "scenario" in item.get("rule", {}) and not verdict.get("cause"):
        faults.append("not confirmed, without a cause")
    if ways == ["missing"]:
        return faults + ["a verdict without a command"] * is_run
    fault = fault_of_command(program, item["command"])
    if fault:
        return faults + [fault + ": " + item["command"]]
    if "rule" not in item:
        return faults + ["a command without a rule"]
    faults += faults_of_rule(program, item)
    if not faults and is_always_the_same(item):
        try:
            holds, found = judge(program, item)
            if verdict["verdict"] != ("confirmed" if holds else "not confirmed"):
                faults.append("%s, but its rule %s: %s" %
                              (verdict["verdict"], "holds" if holds else "does not hold", found))
        except (KeyError, ValueError) as error:
            faults.append("its rule cannot be tried: %s" % error)
    return faults


def all_faults(program, ledger):
    faults, seen = [], set()
    for paper in ledger:
        faults += faults_of_simulated(program, paper)
        for item in paper["items"]:
            name = item.get("id", "?")
            faults += ["%s: %s" % (name, fault) for fault in faults_of(program, item)]
            if name in seen:
                faults.append("%s: twice" % name)
            if not name.startswith(paper["key"] + "-"):
                faults.append("%s: expected %s-..." % (name, paper["key"]))
            seen.add(name)
    return faults


# --- The page --------------------------------------------------------------------------------------

def words_of_measurement(rule):
    """A rule about samples, whose conditions are data."""
    def side(member, metric, where):
        return metric.replace("_", " ") + " of *" + member + "*" + "".join(" " + one for one in where)
    text = side(rule["of"], rule["metric"], rule.get("of_where", []))
    text += ", less that of *%s*," % rule["less"] if "less" in rule else ""
    if "to" in rule:
        text += (" - " if rule["metric"] == "hidden" else " / ") + side(rule["to"], rule.get("to_metric", rule["metric"]), rule.get("to_where", []))
    if rule.get("over"):
        text += ", where " + " and ".join(rule["over"])
    return text + {"all": ", in every cell", "any": ", in some cell", "mean": ", mean of the cells",
                   "median": ", median of the cells"}[rule["cells"]]


def words_of_rule(rule):
    """The rule in a line; nothing for that of a test."""
    if "test" in rule:
        return ""
    if "prints" in rule:
        return 'it prints "%s"' % rule["prints"]
    text = "scenario `%s`: " % rule["scenario"] if "scenario" in rule else ""
    if "cells" in rule:
        text += words_of_measurement(rule)
    else:
        text += rule["metric"].replace("_", " ")
        where = ", ".join("%s %s" % pair for pair in rule.get("where", {}).items())
        text += " of " + (where or str(rule["of"])) if where or "of" in rule else ""
        base = rule.get("relative_to", rule.get("to"))
        if isinstance(base, dict):
            base = base["metric"].replace("_", " ") + "".join(", %s %s" % pair
                                                              for pair in base.get("where", {}).items())
        text += " / that of " + ("`%s`" % base if str(base).startswith("weft ") else str(base)) if base else ""
        text += " over " + rule["over"] if "over" in rule else ""
    text += ", at least %g" % rule["at_least"] if "at_least" in rule else ""
    text += ", at most %g" % rule["at_most"] if "at_most" in rule else ""
    return text + (" in some row" if rule.get("rows") == "any" else "")


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def shown_by(item):
    parts = []
    if item.get("command"):
        parts.append("`%s`" % item["command"])
        parts += [words_of_rule(item["rule"])] if words_of_rule(item["rule"]) else []
    parts += ["[%s](%s)" % (path, os.path.relpath(path, "docs")) for path in item.get("files", [])]
    return "<br>".join(parts)


def verdict_of(item):
    return "ruled out" if item.get("ruled_out") else item["verdict"]["verdict"]


def verdict_cell(item):
    if item.get("ruled_out"):
        return "*ruled out*: " + item["ruled_out"]
    verdict = item["verdict"]
    why = "; ".join(filter(None, ["missing: " + item["missing"] if item.get("missing") else "", verdict.get("why"),
                                  "cause: " + verdict["cause"] if verdict.get("cause") else ""]))
    when = " (%s, %s)" % (verdict["date"], verdict["machine"]) if "date" in verdict else ""
    return "*%s*%s%s" % (verdict["verdict"], ": " + why if why else "", when)


def counts_table(ledger):
    names = VERDICTS + ("ruled out",)
    lines = ["| paper | items | %s | of these, a part is missing |" % " | ".join(names), "|---" * (len(names) + 3) + "|"]
    sums = [0] * (len(names) + 2)
    for paper in ledger:
        verdicts = [verdict_of(item) for item in paper["items"]]
        row = [len(verdicts)] + [verdicts.count(name) for name in names] + \
              [sum(1 for item in paper["items"] if item.get("missing"))]
        sums = [a + b for a, b in zip(sums, row)]
        lines.append("| [%s](#%s) | %s |" % (paper["name"], paper["key"], " | ".join(map(str, row))))
    lines.append("| all | %s |" % " | ".join(map(str, sums)))
    return "\n".join(lines) + "\n"


def page_of(ledger):
    parts = [INTRODUCTION, counts_table(ledger)]
    for paper in ledger:
        parts.append('<a id="%s"></a>\n\n## %s\n\n%s\n' % (paper["key"], paper["name"], paper["source"]))
        if paper.get("notes"):
            parts.append(paper["notes"] + "\n")
        for kind, title in KINDS.items():
            items = [item for item in paper["items"] if item["kind"] == kind]
            if not items:
                continue
            lines = ["### %s: %s\n" % (paper["name"], title.lower()), "| item | says | shown by | verdict |",
                     "|---|---|---|---|"]
            lines += ["| `%s` (%s) | %s | %s | %s |" % (item["id"], item["where"], cell(item["says"]),
                                                       cell(shown_by(item)), cell(verdict_cell(item)))
                      for item in items]
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def judge_samples(files, folder, is_to_write):
    """Prints the verdicts of rules about samples."""
    from report import judge as by_samples
    ledger = papers(folder)
    try:
        judged = list(by_samples.judge_all(ledger, files))
    except by_samples.samples.SampleError as error:
        print("papers.py: %s" % error, file=sys.stderr)
        return 2
    for item, one in judged:
        if one is None:
            print("%-32s %-20s %s" % (item["id"], "for a reader", words_of_rule(item["rule"])))
            continue
        print("%-32s %-20s %s" % (item["id"], one.verdict, one.why))
        before = item["verdict"]
        item["verdict"] = {"verdict": one.verdict, "why": one.why, "date": one.date, "machine": one.machine}
        if before.get("cause") and before["verdict"] == one.verdict:
            item["verdict"]["cause"] = before["cause"]
    counts = ["%d %s" % (sum(1 for _, one in judged if one and one.verdict == name), name) for name in VERDICTS[:-1]]
    print("%s, %d for a reader" % (", ".join(counts), sum(1 for _, one in judged if one is None)))
    if is_to_write:
        for path, paper in zip(sorted(glob.glob(os.path.join(folder, "*.json"))), ledger):
            with open(path, "w", encoding="utf-8") as file:
                file.write(json.dumps(paper, indent=2, ensure_ascii=False) + "\n")
    return 0


def main():
    if sys.argv[1:2] == ["--samples"]:
        words = sys.argv[2:]
        at = words.index("--write") if "--write" in words else len(words)
        return judge_samples(words[:at], (words[at + 1:] or [os.path.join(ROOT, LEDGER)])[0], at < len(words))
    program, action = sys.argv[1], sys.argv[2:]
    is_own = len(action) < 2
    ledger = papers(os.path.join(ROOT, LEDGER) if is_own else action[1])
    if action == ["--judge"]:
        for item in (item for paper in ledger for item in paper["items"]):
            if is_always_the_same(item) and "rule" in item:
                print("%-40s %-5s %s" % ((item["id"],) + judge(program, item)))
        return 0
    faults = all_faults(program, ledger)
    if action[:1] == ["--check"]:
        if is_own and (not os.path.exists(os.path.join(ROOT, PAGE)) or text_of(PAGE) != page_of(ledger)):
            faults.append("%s: no longer what the ledger says; run ./dev docs" % PAGE)
    elif not faults:
        with open(os.path.join(ROOT, PAGE), "w", encoding="utf-8") as file:
            file.write(page_of(ledger))
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
