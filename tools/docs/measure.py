"""Measures the scenarios of papers (bench/scenarios/paper), and simulates what the ledger simulates for their figures.

usage: measure.py PROGRAM PAPER MINUTES SAMPLES [OPTIONS of weft bench]
       measure.py PROGRAM --again SAMPLES

PAPER: libnbc, sci, core-direct, ukacc, case or all. MINUTES: for all of it; 0: as many as ./dev bench --paper all
has for these. PROGRAM is a built weft. All goes to SAMPLES, line by line: an interrupted run keeps what it has.
The time is shared by the scenarios' budgets; what one leaves over, or takes too long, is the next ones'.
--again gives samples that are there what scenarios and ledger say now of how they are drawn, and their simulations, which are kept
where PROGRAM is -.
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
OF_MPIS = re.compile("mpi|thread:mpi|libnbc|nbc:|preload|stub")  # implementations


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


def with_views(names):
    """... and the names of the other figures that the same samples give."""
    return [*names, *(view["name"] for name in names for view in scenario_called(name).get("views", []))]


def plan_of(command):
    """How many jobs it would run."""
    done = subprocess.run(command + ["--plan"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ValueError(done.stdout.decode(errors="replace").strip())
    return len(re.findall(rb'^  "launcher":', done.stdout, re.MULTILINE))


# Items that say what a figure of the paper shows, and not how it is measured or simulated here.
OF_PAPERS = re.compile(r".*-(fig|table)\d+[a-z]?(-left|-right|-gather|-alltoall|-large)?")
DRAWN = ("question", "says", "column", "baseline", "views")  # fields of a scenario that say how its samples are drawn


NO_NOTES = ([], [], {})


def as_drawn(name, scenario, notes):
    """A scenario of a 'run' line with its name in the question, what the paper says of its figures, and the members that
    rules compare."""
    def named(name, one):
        said, compared, more = notes.get(name, NO_NOTES)
        return dict(one, question="%s: %s" % (name, one.get("question", "")), notes=said,
                    **dict(more, **{"compares": compared} if compared else {}))
    drawn = named(name, scenario)
    if "views" in scenario:
        drawn["views"] = [named(view["name"], view) for view in scenario["views"]]
    return drawn


class Lines:
    """The file of samples."""

    def __init__(self, path, notes=None):
        self.file = open(path, "w", encoding="utf-8")
        self.notes = notes or {}  # by scenario
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
                        line["scenarios"][name] = as_drawn(name, scenario, self.notes)
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


def tables_of(program, scenario):
    """The commands that make the tables of algorithms which members name (WEFT_TUNING): by start and wait, or, if the file is
    called so, by the overlapped time."""
    for member in scenario.get("members", []):
        settings = member.get("settings", {})
        if "WEFT_TUNING" not in settings or member.get("again"):
            continue
        command = [program, "tune", "-o", settings["WEFT_TUNING"], "--ranks", str(scenario["ranks"]), "--nodes",
                   str(scenario["nodes"]), "--rate", scenario["link"]["rate"], "--cores", scenario["cores"],
                   "--collective", ",".join(scenario["collective"]), "--sizes", ",".join(scenario["bytes"])]
        yield command + (["--overlapped", "--engine", member["engine"]] if "overlapped" in settings["WEFT_TUNING"] else [])


def tune(program, scenario):
    """Makes these tables anew."""
    for command in tables_of(program, scenario):
        os.makedirs(os.path.dirname(command[3]), exist_ok=True)
        for path in (command[3], command[3] + ".part"):
            if os.path.exists(path):
                os.remove(path)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise ValueError("%s: %s" % (" ".join(command[1:]), done.stdout.decode(errors="replace").strip()[-200:]))


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
                tune(program, scenario_called(name))
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


def simulate(program, ledger, lines):
    """Writes what is simulated for the figures of scenarios that were measured, after these."""
    for one in (one for paper in ledger for one in paper.get("simulated", [])):
        if one["scenario"] not in lines.heads:
            continue
        try:
            for point in papers.points_simulated(program, one):
                lines.write(point)
        except (KeyError, ValueError) as error:
            print("%s: its simulation has no points: %s" % (one["scenario"], error), flush=True)


def name_missing_figures(ledger, names, keys, lines):
    """Figures of the papers that no scenario shows: by name, with the reason."""
    for paper in ledger:
        for item in paper["items"]:
            if item["kind"] not in ("figure", "table") or paper["key"] not in keys or scenario_of(item, names) or \
                    item.get("rule", {}).get("scenario") in names:
                continue
            why = item.get("ruled_out") or item.get("missing") or "shown by %s: no figure of samples" % item["command"]
            lines.miss(item["id"], {"name": item["id"], "question": "%s: %s" % (item["id"], item["says"])},
                       why)


def notes_of(ledger, names, has_verdicts=False):
    """By scenario: what the paper says of it, with the verdict here if it is known; which members rules compare, [of, to]; and
    fields of the scenario: the same claims apart, with their rules ("claims"), and which system of the paper members stand
    for ("stands_for")."""
    items = [item for paper in ledger for item in paper["items"]]
    notes = {}
    for item in items:
        rule = item.get("rule", {})
        own = re.sub(r"-real$", "", item["id"])
        pair = [rule.get("of"), rule.get("to")]
        if all(pair) and pair[0] != pair[1]:
            name = own if own in names else rule.get("scenario")
            if name in names:
                compared = notes.setdefault(name, ([], [], {}))[1]
                compared.insert(0 if own == name else len(compared), pair)  # (first what the figure itself is asked)
    for name, claims in claims_of(items, names).items():
        words = [claim_in_words(item, name, has_verdicts) for item in claims]
        found = [claim_of(item, name) for item in claims]
        for at, item in enumerate(claims):  # ("the same" as what?)
            before = items[:items.index(item)][::-1]
            other = next((one for one in before if one["kind"] == item["kind"] and not is_the_same(one)), None)
            if is_the_same(item) and other is not None and other not in claims:
                words[at] = "%s. %s" % (said(other), words[at])
                if not item.get("finds"):
                    found[at]["says"] = "%s. %s" % (said(other), found[at]["says"])
        notes.setdefault(name, ([], [], {}))[0].extend(words)
        if has_verdicts:
            notes[name][2]["claims"] = found
    for paper in ledger:
        for name in names:
            if paper.get("stands_for") and name.startswith(paper["key"] + "-"):
                notes.setdefault(name, ([], [], {}))[2].update(stands_for=paper["stands_for"], setup=paper.get("setup", ""))
    return notes


def claim_of(item, name):
    """What a figure of this name says about a claim: see report/claims.py."""
    found = {"says": item.get("finds") or said(item), "where": item["where"], "verdict": item.get("verdict", {}).get("verdict", "not run"),
             "why": item.get("verdict", {}).get("why", ""), "is_simulated": is_simulated(item)}
    if is_simulated(item):
        found["command"] = item["command"]
    if item.get("verdict", {}).get("verdict") == "not confirmed" and item["verdict"].get("cause"):
        found["cause"] = first_sentence(item["verdict"]["cause"])
    if "rule" in item:
        found["rule"] = item["rule"]
    scenario = item.get("rule", {}).get("scenario")
    if scenario and scenario not in (name, views().get(name)):
        found["by"] = scenario
    return found


CLAIMS_MAX = 2  # of a figure that shows no figure of the paper
STRONGEST = ("figure", "table", "finding", "equation")  # kinds of items


def claims_of(items, names):
    """By scenario: the items of the paper's figures that it shows, and of measured ones that its samples decide; else the
    first that its rules decide, or those of the scenario whose samples it draws in another way, or with more ranks."""
    found, judged = {}, {}
    for item in items:
        scenario = item.get("rule", {}).get("scenario")
        if scenario:
            judged.setdefault(scenario, []).append(item)
        if OF_PAPERS.fullmatch(item["id"]):
            figure = re.match(r".*-fig\d+", item["id"])
            is_own = figure and str(scenario).startswith(figure.group(0) + "-") and is_of_apps(scenario)
            name = item["id"] if item["id"] in names else scenario if is_own else scenario_of(item, names) or scenario
            if name in names:
                found.setdefault(name, []).append(item)
    drawn_from = views()
    for name in names:
        own = sorted(judged.get(name, []), key=lambda item: (STRONGEST + (item.get("kind"),)).index(item.get("kind")))
        if name in found:
            if all(is_simulated(item) for item in found[name]):
                found[name] += [item for item in own if item.get("kind") == "figure"][:CLAIMS_MAX]
        elif own:
            found[name] = own[:CLAIMS_MAX]
    for name in names:
        other = re.sub("-ranks(-all)?$", "", drawn_from.get(name, name))
        if name not in found and other in found:
            found[name] = found[other][:CLAIMS_MAX]
    return found


def views():
    """Of figures that draw a scenario's samples in another way: which scenario's."""
    return {view["name"]: name for of in papers.scenarios().values() for name, one in of.items() for view in one.get("views", [])}


def is_of_apps(scenario):
    return scenario in papers.app_scenarios()


def is_the_same(item):
    return item["says"].startswith("The same")


def is_simulated(item):
    return item.get("command", "").startswith("weft simulate")


def said(item):
    return re.sub(r" ?\((The drawing|Only rank|[^()]*(libnbc|sci|core-direct|ukacc|case)-)[^()]*\)", "",
                  item["says"].partition(" Asked:")[0]).strip(". ")


def claim_in_words(item, name, has_verdicts):
    """ "It idles (1). Here: confirmed." """
    text = "%s (%s)." % (said(item), item["where"])
    return "%s %s" % (text, verdict_in_words(item, name)) if has_verdicts else text


def verdict_in_words(item, name):
    """In the figure of this name. That of another figure is said to be of that."""
    verdict = item.get("verdict", {})
    found = verdict.get("verdict", "not run")
    judged = item.get("rule", {}).get("scenario")
    is_other = judged and judged not in (name, views().get(name))
    here = "In the model" if is_simulated(item) else "Here (by %s)" % judged if is_other else "Here"
    if item.get("rule", {}).get("in_words"):
        return "The rule is for a reader."
    if found == "cannot be seen here":
        return "%s it cannot be seen: %s." % (here, why_unseen(verdict["why"]))
    if found == "not confirmed" and verdict.get("cause"):
        return "%s: not confirmed: %s." % (here, first_sentence(verdict["cause"]))
    return "%s: %s." % (here, found)


def first_sentence(text):
    return re.split(r"\. (?=[A-Z*])", text)[0].rstrip(".").replace("*", "")


def why_unseen(why):
    """The reason without the figures."""
    count = re.search(r"(\d+ of \d+) cells do not count", why)
    if count:
        return "in %s cells of its rule chance is as large as the effect, or not known" % count.group(1)
    return "no cell of its rule has a value" if why.startswith("all its cells are missing") else first_sentence(why)


WITHOUT = "-"  # in place of a program


def draw_again(program, ledger, path):
    """Gives the samples of a file the words that scenarios and ledger have now, and what is simulated now (without a program:
    what was)."""
    known = {name: one for of in papers.scenarios().values() for name, one in of.items()}
    of_apps = papers.app_scenarios()
    notes = notes_of(ledger, [*with_views(names_of("all")), *of_apps], has_verdicts=True)
    with open(path, encoding="utf-8") as file:
        texts = file.readlines()
    lines = Lines(path + ".new", notes)
    counts_tests = any('"test_calls"' in text for text in texts)
    for text in texts:
        line = json.loads(text)
        if line["kind"] == "simulated" and program != WITHOUT:
            continue
        if line["kind"] == "run":
            for name, scenario in line["scenarios"].items():
                if name in known:
                    kept = {key: value for key, value in scenario.items() if key not in DRAWN + ("compares", "claims", "stands_for", "setup")}
                    now = {key: known[name][key] for key in DRAWN if key in known[name]}
                    if now.get("column") == "test" and not counts_tests:  # (older samples have only the time of all tests)
                        view = now.pop("views")[0]
                        now.update(question=view["question"], column=view["column"])
                    what = {one["name"]: {"what": one["what"]} for one in known[name].get("members", []) if "what" in one}
                    if "members" in kept:
                        kept["members"] = [dict(one, **what.get(one.get("name"), {})) for one in kept["members"]]
                    line["scenarios"][name] = as_drawn(name, dict(kept, **now), notes)
                elif name in of_apps:
                    said_of, _, more = notes.get(name, NO_NOTES)
                    line["scenarios"][name] = dict(scenario, notes=said_of, **more)
                lines.heads.setdefault(name, line)
            text = json.dumps(line, sort_keys=True) + "\n"
        lines.file.write(text)
    if program != WITHOUT:
        simulate(program, ledger, lines)
    lines.file.close()
    os.replace(path + ".new", path)


def main():
    ledger = papers.papers(os.path.join(papers.ROOT, papers.LEDGER))
    if sys.argv[2:3] == ["--again"]:
        return draw_again(sys.argv[1], ledger, sys.argv[3])
    program, paper, minutes, path = sys.argv[1:5]
    budgets = names_of(paper)
    keys = [one["key"] for one in ledger] if paper == "all" else [paper]
    if not budgets:
        print("no paper %s; expected %s or all" % (paper, ", ".join(one["key"] for one in ledger)), file=sys.stderr)
        return 2
    minutes = float(minutes) or ALL_MIN * sum(budgets.values()) / sum(names_of("all").values())
    began = time.monotonic()
    lines = Lines(path, notes_of(ledger, with_views(budgets)))
    is_well = measure(program, budgets, minutes, lines, sys.argv[5:])
    simulate(program, ledger, lines)
    name_missing_figures(ledger, with_views(budgets), keys, lines)
    took = (time.monotonic() - began) / 60
    print("%d scenarios took %.0f min of %.0f%s" % (len(budgets), took, minutes, "" if took <= 1.05 * minutes else
                                                    ": longer than asked, for a repetition takes its time"))
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
