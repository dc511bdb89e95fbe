"""Measures the scenarios of papers (bench/scenarios/paper), and simulates what the ledger simulates for their figures.

usage: measure.py PROGRAM PAPER MINUTES SAMPLES [OPTIONS of weft bench]

PAPER: libnbc, sci, core-direct, ukacc, case or all. MINUTES: for all of it; 0: as many as ./dev bench --paper all
has for these. PROGRAM is a built weft. All goes to SAMPLES, line by line: an interrupted run keeps what it has.
The time is shared by the scenarios' budgets; what one leaves over, or takes too long, is the next ones'.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import papers

SET_UP_S = 1.5          # of a job, until one was measured
ALL_MIN = 90            # for all papers
PATIENCE_S = 600        # beyond twice its share, a scenario hangs
METRICS = {"end": "time_us", "CPU busy": "cpu_us"}  # of a simulation of one operation, in ns
COLUMNS = {"overlap_percent": "hidden"}             # of a table; others in us are times
OF_MPIS = re.compile("mpi|thread:mpi|libnbc|nbc:|preload|stub")  # implementations
OPTION = {"bytes": r"--bytes (\S+)", "ranks": r"-n (\d+)", "nodes": r"--nodes (\S+)"}


def names_of(paper):
    """The paper's scenarios, with their budgets in seconds, in the order of its files."""
    found = {}
    for path in sorted(glob.glob(os.path.join(papers.ROOT, papers.SCENARIOS, "paper", "*.json"))):
        stem = os.path.basename(path)[:-len(".json")]
        if paper == "all" or stem == paper or stem.startswith(paper + "-"):
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
            for one in content if isinstance(content, list) else [content]:
                found[one["name"]] = papers.conditions.number("late", one.get("budget", "60s")) / 1e6
    return found


def paper_of(name, keys):
    return max((key for key in keys if name.startswith(key + "-")), key=len, default="")


def plan_of(command):
    """How many jobs it would run."""
    done = subprocess.run(command + ["--plan"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ValueError(done.stdout.decode(errors="replace").strip())
    return len(re.findall(rb'^  "launcher":', done.stdout, re.MULTILINE))


class Lines:
    """The file of samples."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        self.heads = {}  # run lines by scenario

    def write(self, line):
        self.file.write(json.dumps(line, sort_keys=True) + "\n")
        self.file.flush()

    def take(self, path):
        """The lines of one scenario's samples. Returns whether they have an end.

        Its question is told by its name. Where all was measured beside MPIs, the first "run" line has nothing of its own."""
        is_whole, held = False, None
        if not os.path.exists(path):
            return False
        with open(path, encoding="utf-8", errors="replace") as file:
            for text in file:
                try:
                    line = json.loads(text)
                except ValueError:  # cut off
                    break
                is_whole = line.get("kind") == "end"
                if line.get("kind") == "run":
                    for name, scenario in line["scenarios"].items():
                        scenario["question"] = "%s: %s" % (name, scenario.get("question", ""))
                        self.heads.setdefault(name, line)
                    held = line
                    continue
                if held:
                    self.write(held)
                    held = None
                self.file.write(text)
        if held:
            self.write(held)
        self.file.flush()
        return is_whole

    def miss(self, name, scenario, why):
        """A figure or scenario that is named as missing."""
        head = dict(next(iter(self.heads.values()), BARE), scenarios={name: scenario})
        self.heads.setdefault(name, head)
        self.write(head)
        self.write({"kind": "missing", "scenario": name, "why": why})
        self.write({"kind": "end", "seconds": 0, "complete": True})


# Where nothing at all was measured.
BARE = {"kind": "run", "schema": 1, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "command": "./dev bench --paper",
        "weft": {}, "host": {}}


def scenario_called(name):
    return next(one[name] for one in papers.scenarios().values() if name in one)


def options_for(scenario, options):
    """Without --against where no member is an MPI's, for nothing would be compared with it."""
    if any(OF_MPIS.match(member.get("implementation", "")) for member in scenario.get("members", [])):
        return options
    kept, words = [], iter(options)
    for word in words:
        if word == "--against":
            next(words, None)
        elif not word.startswith("--against="):
            kept.append(word)
    return kept


def measure(program, budgets, minutes, lines, options):
    """All scenarios, each with its share of what time is left. Returns whether all went well."""
    end = time.monotonic() + 60 * minutes
    left = sum(budgets.values())
    set_up_s, is_well = SET_UP_S, True
    with tempfile.TemporaryDirectory() as folder:
        for name, budget in budgets.items():
            share = max(0.0, end - time.monotonic()) * budget / left
            left -= budget
            command = [program, "bench", name] + options_for(scenario_called(name), options)
            path = os.path.join(folder, name + ".jsonl")
            began, why = time.monotonic(), ""
            try:
                jobs = plan_of(command)
                measuring = max(1.0, share - jobs * set_up_s)
                print("%-30s %4.0f s of %.0f min" % (name, share, minutes), end="  ", flush=True)
                status = subprocess.run(command + ["--set", "budget=%.1fs" % measuring, "--json", path],
                                        stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                        timeout=2 * share + PATIENCE_S).returncode
                why = "weft bench ended with status %d" % status if status else ""
            except subprocess.TimeoutExpired:
                why = "it took longer than %.0f s" % (2 * share + PATIENCE_S)
            except ValueError as error:
                why = str(error)
            took = time.monotonic() - began
            print("took %.0f s%s" % (took, "   " + why if why else ""), flush=True)
            if not lines.take(path) and name in lines.heads:
                lines.write({"kind": "end", "seconds": took, "complete": False})
            if why:
                lines.miss(name, {"name": name, "question": "%s: %s" % (name, scenario_called(name).get("question", ""))}, why)
                is_well = False
    return is_well


# --- Simulated points ----------------------------------------------------------------------------------

def scenario_of(item, names):
    """The scenario with the same figure: core-direct-fig1a, or case-fig1-simulated; None: there is none."""
    match = re.match(r".*-fig\d+", item["id"])
    return next((name for name in names if match and re.match(re.escape(match.group(0)) + r"(?!\d)", name)), None)


def places(text):
    """Ranks and nodes of "-n 16" or "--nodes 16x8"."""
    found = {name: re.search(pattern, text) for name, pattern in OPTION.items()}
    if found["nodes"] and "x" in found["nodes"].group(1):
        nodes, each = map(int, found["nodes"].group(1).split("x"))
        return nodes * each, nodes
    return int(found["ranks"].group(1)) if found["ranks"] else 0, 0


def points_of_operation(program, command, metric):
    """`weft simulate bcast -a binomial -n 16 --bytes 1M`: one point."""
    ranks, nodes = places(command)
    words = command.split()
    size = re.search(OPTION["bytes"], command)
    algorithm = re.search(r"-a (\S+)", command)
    inner, ports = re.search(r"--inner (\S+)", command), re.search(r"--ports (\d+)", command)
    member = " ".join([algorithm.group(1) if algorithm else "default"] + ([inner.group(1)] if inner else []) +
                      (["k=" + ports.group(1)] if ports else []))
    yield {"member": member, "collective": "i" + words[2], "ranks": ranks, "nodes": nodes,
           "bytes": int(papers.conditions.number("bytes", size.group(1))) if size else 0,
           "metric": METRICS[metric], "value": papers.number_in(program, command, metric) / 1e3}


def points_of_table(program, item, where, metric):
    """The rows of an experiment's table that the rule is about."""
    rule, command = item["rule"], item["command"]
    experiment = command.split()[3]
    for row in papers.rows_of(program, command, rule["table"], where):
        told = [str(row[name]) for name in ("layout", "algorithm", "transfer", "progress") if name in row]
        ranks = places(command)[0] or row.get("ranks") or (128 if experiment == "core-direct" else 0)
        yield {"member": " ".join(told + (["k=%d" % row["k"]] if "k" in row else [])),
               "collective": "i" + row.get("collective", "allgather"), "bytes": row.get("bytes", 0), "ranks": ranks,
               "nodes": row.get("nodes", 0), "metric": COLUMNS.get(metric, "time_us"), "value": row[metric]}


def points_of(program, item):
    """The simulated points of an item: what its rule measures, and what it compares that with."""
    rule, command = item["rule"], item["command"]
    base = rule.get("relative_to")
    if "table" in rule:
        for where, metric in [(rule["where"], rule["metric"])] + ([(base["where"], base["metric"])] if base else []):
            for point in points_of_table(program, item, where, metric):
                yield dict(point, command=command)
    elif rule.get("metric") in METRICS:
        for one in [command] + ([base] if base else []):
            for point in points_of_operation(program, one, rule["metric"]):
                yield dict(point, command=one)


def simulate(program, ledger, names, lines):
    """Writes them after the scenarios that have the same figures."""
    written = set()
    for item in (item for paper in ledger for item in paper["items"]):
        name = scenario_of(item, names)
        if not item.get("command", "").startswith("weft simulate") or name not in lines.heads:
            continue
        try:
            for point in points_of(program, item):
                line = dict(point, kind="simulated", scenario=name)
                if repr(line) not in written:
                    written.add(repr(line))
                    lines.write(line)
        except (KeyError, ValueError) as error:
            print("%s: its simulation has no points: %s" % (item["id"], error), flush=True)


def name_missing_figures(ledger, names, keys, lines):
    """Figures of the papers that no scenario shows: by name, with the reason."""
    for paper in ledger:
        for item in paper["items"]:
            if item["kind"] != "figure" or paper["key"] not in keys or scenario_of(item, names) or \
                    item.get("rule", {}).get("scenario") in names:
                continue
            why = item.get("ruled_out") or item.get("missing") or "shown by %s: no figure of samples" % item["command"]
            lines.miss(item["id"], {"name": item["id"], "question": "%s: %s" % (item["id"], item["says"])},
                       why)


def main():
    program, paper, minutes, path = sys.argv[1:5]
    ledger = papers.papers(os.path.join(papers.ROOT, papers.LEDGER))
    budgets = names_of(paper)
    keys = [one["key"] for one in ledger] if paper == "all" else [paper]
    if not budgets:
        print("no paper %s; expected %s or all" % (paper, ", ".join(one["key"] for one in ledger)), file=sys.stderr)
        return 2
    minutes = float(minutes) or ALL_MIN * sum(budgets.values()) / sum(names_of("all").values())
    began = time.monotonic()
    lines = Lines(path)
    is_well = measure(program, budgets, minutes, lines, sys.argv[5:])
    simulate(program, ledger, list(budgets), lines)
    name_missing_figures(ledger, list(budgets), keys, lines)
    took = (time.monotonic() - began) / 60
    print("%d scenarios took %.0f min of %.0f%s" % (len(budgets), took, minutes, "" if took <= 1.05 * minutes else
                                                    ": longer than asked, for a repetition takes its time"))
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
