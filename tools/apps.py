"""Measures the applications (apps/) on an emulated cluster: each with Weft and with MPIs, blocking and nonblocking.

usage: apps.py BUILD SAMPLES quick|all [OPTIONS]

quick: the middle size of each application (apps/sizes.json), 3 alternating runs of each member, at most 15 minutes. all: three
sizes with each of --links, each member tuned by the same search (--tune), the figures of apps/figures.json, and 4 ranks;
--minutes are shared by all of them, what matters most first. BUILD is a release build; WEFT_BENCH_MPI_NAME names an MPI's
folder. All samples go to SAMPLES, as `weft bench --json` writes them.

--calibrate measures only the share of communication in Weft's blocking version, over the ladders of apps/ladders.json, and
prints what to put into apps/sizes.json.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from report import profile, stats, words  # noqa: E402 (of the tree)

# As bench/player/mpi_job.cpp: settings, settings and options of mpiexec between emulated nodes; %s: the MPI's folder; EACH:
# ranks of a node.
MPIS = {
    "mpich": ("", "UCX_TLS=tcp,self UCX_NET_DEVICES=eth0",
              "-launcher ssh -launcher-exec $WEFT_CLUSTER_AGENT -localhost $WEFT_CLUSTER_ADDRESS "
              "-hosts $WEFT_CLUSTER_NODES -ppn EACH"),
    "openmpi": ("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none", "",
                "--prtemca plm_ssh_agent $WEFT_CLUSTER_AGENT --prtemca plm_ssh_no_tree_spawn 1 "
                "--host $WEFT_CLUSTER_NODES --map-by ppr:EACH:node --mca pml ob1 --mca btl tcp,sm,self "
                "--mca btl_tcp_if_include eth0"),
    "impi": ("I_MPI_ROOT=%s LD_LIBRARY_PATH=%s/lib FI_PROVIDER_PATH=%s/lib I_MPI_PIN=0",
             "I_MPI_HYDRA_BOOTSTRAP=ssh I_MPI_HYDRA_BOOTSTRAP_EXEC=$WEFT_CLUSTER_AGENT "
             "I_MPI_HYDRA_IFACE=$WEFT_CLUSTER_INTERFACE I_MPI_FABRICS=ofi FI_PROVIDER=tcp FI_TCP_IFACE=eth0",
             "-hosts $WEFT_CLUSTER_NODES -ppn EACH"),
}
# Shares of communication in the blocking version, in %, which name the sizes. The first one is measured without a goal.
BANDS = {"20-30": (20, 30), "40-50": (40, 50), "55-65": (55, 65)}
QUICK_SIZE = "40-50"
# What is asked for, of the other sizes: the best blocking time / Weft's.
GOALS = {"cg": 1.2, "fft": 1.3, "compression": 1.2, "radix_sort": 1.2, "training": 1.4}
# What makes the program one without overlap, which computes all and then communicates all, where calls that block are not
# enough: with one message after the other the operating system's buffers and the links' buckets are a pipeline, too. That
# program is measured beside it.
BLOCKING = {"compression": "--at-once", "fft": "--planes-per-message 1000000 --late 0", "training": "--bucket 1000000 --early 0"}
BURST_BYTES = 72 << 10  # a packet of 64 KiB with the headers of all its segments
TESTS = 16  # without a search: of MPIs, which progress in calls
LEAST_RUNS = 6  # that have an interval
# What there is to measure, in the order in which it gets time.
GROUPS = ("goals", "figures", "smallest", "ranks")
PROFILE_RUNS = 3
JOB_TIMEOUT_S = 300
SWITCH_SHARE_MAX = 0.2  # of a core, as tools/weft/switch/report.cpp
RATES = ["1gbit", "500mbit", "250mbit", "100mbit"]
COLUMNS = ["total", "work", "start", "tests", "wait"]


class Failed(Exception):
    """A job that failed, in a sentence."""


class Late(Failed):
    """A job whose links were not those that were asked for: the switch could not run in time."""


# --- Jobs -----------------------------------------------------------------------------------------------

class Member:
    """Who carries out an application's collectives."""

    def __init__(self, backend, mpi="", is_preloaded=False, is_again=False, settings="", name="", arguments="", in_blocks=False):
        self.backend = backend
        self.mpi = mpi
        self.is_preloaded = is_preloaded
        self.is_again = is_again
        self.settings = settings  # of the environment
        self.is_blocking = backend.endswith("-blocking")
        self.is_reference = self.is_blocking and not in_blocks  # what gains are over
        self.name = name or " ".join(filter(None, [mpi or "weft", "preload" if is_preloaded else "",
                                                   "blocking" if self.is_blocking else "", "by block" if in_blocks else "",
                                                   "again" if is_again else ""]))
        self.own = arguments.split()

    def arguments(self):
        """Without a search."""
        return self.own + (["--tests", str(TESTS)] if self.backend == "mpi" else [])


def members_of(app, mpis, with_preload=True):
    blocking = BLOCKING.get(app, "")
    found = []
    for mpi in [""] + list(mpis):
        of_mpi = "mpi" if mpi else "weft"
        found.append(Member(of_mpi + "-blocking", mpi, arguments=blocking))
        if blocking:
            found.append(Member(of_mpi + "-blocking", mpi, in_blocks=True))
        found.append(Member(of_mpi, mpi))
        if not mpi:
            found.append(Member("weft", is_again=True))
        elif with_preload:
            found.append(Member("mpi", mpi, is_preloaded=True))
    return found


class Link:
    """A link of the nodes, from a text such as 1gbit or 500mbit+0.5ms."""

    def __init__(self, text):
        self.text = text
        self.rate, _, self.delay = text.partition("+")
        if not re.fullmatch(r"[\d.]+[kmg]bit", self.rate) or (self.delay and words.microseconds(self.delay) <= 0):
            raise ValueError("no link: %s; expected one like 1gbit or 500mbit+0.5ms" % text)

    def bits(self):
        return float(self.rate[:-4]) * {"k": 1e3, "m": 1e6, "g": 1e9}[self.rate[-4]]

    def arguments(self):
        """The bucket of tokens is as small as it can be: it holds one packet. A computation fills it, and what then passes at once
        costs a blocking program no time, which no real link gives away. (Smaller packets, with a smaller bucket, take four times
        the CPU time to forward, from the cores that compute. At higher rates the bucket is empty so soon that it does not
        matter.)"""
        bucket = ["--burst", str(BURST_BYTES)] if self.bits() <= 1e9 else []
        return ["--rate", self.rate] + (["--delay", self.delay] if self.delay else []) + bucket

    def head(self):
        return {"rate": self.rate, "delay_us": words.microseconds(self.delay or "0")}


class Place:
    """Where a job runs: emulated nodes, the ranks in blocks on them."""

    def __init__(self, link, ranks=2, nodes=0):
        self.link = link
        self.ranks = ranks
        self.nodes = nodes or ranks

    def text(self):
        return self.link.text + (", %d ranks" % self.ranks if self.ranks != 2 else "") + \
            (" on %d nodes" % self.nodes if self.nodes != self.ranks else "")


class Cluster:
    """Starts jobs on emulated nodes."""

    def __init__(self, build):
        self.build = build
        self.run = [os.path.join(build, "weft"), "run"]
        self.said = ""  # by the last job, on its standard error

    def words(self, place, member, app, arguments):
        nodes = ["--nodes", str(place.nodes)] + place.link.arguments() + ["--bind", "core"]
        program = [os.path.join(self.build, "apps", app), "--backend", member.backend] + arguments
        env = ["env"] + member.settings.split()
        if not member.mpi:
            return env + self.run + ["-n", str(place.ranks)] + nodes + program
        settings, around, options = MPIS[member.mpi]
        home = home_of(member.mpi)
        preload = [os.path.join(self.build, "weft"), "preload"] if member.is_preloaded else []
        text = "export PATH=%s/bin:$PATH %s %s; exec mpiexec %s -n %d %s" % (
            home, settings.replace("%s", home), around, options.replace("EACH", str(place.ranks // place.nodes)), place.ranks,
            " ".join(preload + program + ["--mpi", part_of(self.build, member.mpi)]))
        return env + self.run + ["--exec-per-node"] + nodes + ["sh", "-c", text]

    def job(self, place, member, app, arguments):
        """What it printed; raises Failed."""
        try:
            done = subprocess.run(self.words(place, member, app, arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=JOB_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Failed("it took longer than %d s" % JOB_TIMEOUT_S)
        self.said = done.stderr.decode(errors="replace")
        if done.returncode != 0:
            said = self.said.strip().splitlines()
            of_app = [line for line in said if line.startswith(app + ": rank ")]
            kind = Late if "the links were not as asked for" in self.said else Failed
            raise kind("status %d: %s" % (done.returncode, (of_app or said or ["no output"])[-1]))
        return done.stdout.decode(errors="replace")

    def samples(self, place, member, app, arguments):
        """The cell that the application writes, and its samples, the fastest first; raises Failed."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "samples")
            self.job(place, member, app, arguments + ["--json", path])
            try:
                with open(path, encoding="utf-8") as file:
                    lines = [json.loads(line) for line in file]
            except (OSError, ValueError) as error:
                raise Failed(str(error))
        return (next(line for line in lines if line["kind"] == "cell"),
                sorted((line for line in lines if line["kind"] == "sample"),
                       key=lambda line: max(rank[0] for rank in line["ranks"])))


def home_of(mpi):
    return os.environ.get("WEFT_BENCH_MPI_" + mpi.upper(), "")


def part_of(build, mpi):
    return os.path.join(build, "apps", "mpi-%s.so" % mpi)


def compile_part(build, mpi):
    """Why the MPI cannot be measured; "": it can."""
    home = home_of(mpi)
    if not os.path.exists(os.path.join(home, "bin", "mpicc")):
        return "it is not installed (WEFT_BENCH_MPI_%s)" % mpi.upper()
    text = "export PATH=%s/bin:$PATH %s; exec mpicc -std=c99 -O2 -shared -fPIC -I%s %s -o %s" % (
        home, MPIS[mpi][0].replace("%s", home), os.path.join(ROOT, "include"),
        os.path.join(ROOT, "apps", "common", "mpi_part.c"), part_of(build, mpi))
    done = subprocess.run(["sh", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if done.returncode == 0 else "its mpicc fails: " + done.stdout.decode(errors="replace").strip()


# --- What is measured -----------------------------------------------------------------------------------

def overridden(options, others):
    """The options, each a name and perhaps a value, without those that the others have; then these."""
    kept, is_kept = [], True
    for word in options:
        if word.startswith("--"):
            is_kept = word not in others
        if is_kept:
            kept.append(word)
    return kept + others


class Contest:
    """One problem of an application at one place: its members, by turns, with their samples."""

    def __init__(self, scenario, question, app, size, options, members, place, is_tuned=False):
        self.scenario = scenario
        self.question = question
        self.app = app
        self.size = size
        self.options = options.split()
        self.members = members
        self.place = place
        self.is_tuned = is_tuned
        self.arguments = {member.name: self.options + member.arguments() for member in members}
        self.samples = {member.name: {} for member in members}   # by run: times of each rank
        self.profiles = {member.name: {} for member in members}  # by run: phases, if they were asked for
        self.heads = {}    # cells as the application writes them
        self.missing = {}  # why
        self.runs = 0
        self.cost_s = 0    # of a run

    def take(self, found):
        """Arguments that a search has found, or why it failed, by member."""
        for member in self.members:
            chosen = found.get(member.name.replace(" again", ""), [])
            if isinstance(chosen, Failed):
                self.missing[member.name] = str(chosen)
            else:
                self.arguments[member.name] = overridden(overridden(self.options, chosen), member.own)

    def run(self, cluster, order):
        members = [member for member in self.members if member.name not in self.missing]
        order.shuffle(members)
        began = time.monotonic()
        for member in members:
            try:
                head, samples = cluster.samples(self.place, member, self.app, self.arguments[member.name])
            except Late:
                continue  # this run is worthless, and the next one may do
            except Failed as failure:
                self.missing[member.name] = str(failure)
                continue
            typical = samples[len(samples) // 2]
            self.heads[member.name] = head
            self.samples[member.name][self.runs] = typical["ranks"]
            if "phases" in typical:
                self.profiles[member.name][self.runs] = typical["phases"]
        self.runs += 1
        self.cost_s = time.monotonic() - began

    # --- What the table says ---

    def times(self, name):
        """By run, the slowest rank's."""
        return {run: max(rank[0] for rank in ranks) for run, ranks in self.samples[name].items()}

    def fastest(self, is_wanted):
        medians = {member.name: statistics.median(self.times(member.name).values())
                   for member in self.members if is_wanted(member) and self.samples[member.name]}
        return min(medians, key=medians.get, default=None)

    def best_blocking(self):
        return self.fastest(lambda member: member.is_reference)

    def share(self, name):
        """Of a blocking version's time: communication, of all ranks together."""
        return share_of(self.samples[name].values())

    def gain(self, name, best):
        """Estimate of the best blocking time / this member's."""
        return stats.ratio(self.times(best), self.times(name)) if self.samples[name] else None

    def goal(self):
        """What is asked of Weft's gain here, or None."""
        is_asked = self.scenario == "app " + self.app and self.size.split(" ")[0] != next(iter(BANDS)) and self.place.ranks == 2
        return GOALS.get(self.app) if is_asked else None

    def misses_its_goal(self):
        best, goal = self.best_blocking(), self.goal()
        gain = self.gain("weft", best) if best is not None and goal is not None and "weft" in self.samples else None
        return gain is not None and gain.value < goal


def share_of(samples):
    at = COLUMNS.index("wait")
    return statistics.median(sum(rank[at] for rank in ranks) / sum(rank[0] for rank in ranks) for ranks in samples)


def read_json(name):
    path = os.path.join(ROOT, "apps", name)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def contests_of_sizes(what, wanted, mpis, with_preload, links):
    """By group: the sizes that have a goal, with each link; the smallest share; more ranks."""
    def contest(app, size, options, place, with_preload=with_preload, mpis=mpis):
        return Contest("app " + app, "%s: how much time does overlap save?" % app, app, size + " %", options,
                       members_of(app, mpis, with_preload), place, is_tuned=what == "all")
    sizes = [(app, size, options) for app, of_app in read_json("sizes.json").items() if app in wanted
             for size, options in of_app.items()]
    if what == "quick":
        return {"goals": [contest(*one, Place(links[0])) for one in sizes if one[1] == QUICK_SIZE]}
    smallest = next(iter(BANDS))
    return {"goals": [contest(*one, Place(link)) for link in links for one in sizes if one[1] != smallest],
            "smallest": [contest(*one, Place(link)) for link in links for one in sizes if one[1] == smallest],
            # (Spinning ranks of an MPI that share a core take long: one is enough.)
            "ranks": [contest(*one, Place(links[0], 4), False, mpis[:1]) for one in sizes if one[1] == QUICK_SIZE]}


def contests_of_figure(name, figure, mpis):
    """A figure's members have settings of their own; its problems and places are lists."""
    size = figure.get("size")
    of_size = read_json("sizes.json").get(figure["app"], {}).get(size, "") if size else ""
    found = []
    for place in figure.get("places", [{}]):
        for problem in figure.get("problems", [{}]):
            members = [Member(member.get("backend", "weft"), is_again=member.get("again", False),
                              settings=member.get("settings", ""), name=member["name"], arguments=member.get("arguments", ""))
                       for member in figure["members"]]
            if figure.get("mpis"):
                members += [member for member in members_of(figure["app"], mpis, False) if member.mpi]
            arguments = " ".join(overridden(overridden(of_size.split(), figure.get("arguments", "").split()),
                                            problem.get("arguments", "").split()))
            found.append(Contest(name, figure["question"], figure["app"], problem.get("name", name), arguments, members,
                                 Place(Link(place.get("link", "1gbit")), place.get("ranks", 2), place.get("nodes", 0))))
    return found


def contests_of(what, wanted, mpis, with_preload, links, groups=GROUPS):
    """In the order in which they get time: what matters most first."""
    found = contests_of_sizes(what, wanted, mpis, with_preload, links)
    figures = read_json("figures.json") if what == "all" else {}
    found["figures"] = [contest for name, figure in figures.items() if figure["app"] in wanted
                        for contest in contests_of_figure(name, figure, mpis)]
    return [contest for group in GROUPS if group in groups for contest in found.get(group, [])]


class Searches:
    """Finds options for each member of an application once with each link, with its middle size."""

    def __init__(self, cluster, seconds):
        self.cluster = cluster
        self.seconds = seconds
        self.found = {}

    def seconds_for(self, contest):
        """About how long it will take."""
        if not contest.is_tuned or (contest.app, contest.place.link.text) in self.found:
            return 0
        return sum(self.seconds + 1 for member in contest.members if not member.is_again)

    def of(self, contest):
        key = contest.app, contest.place.link.text
        if key not in self.found:
            options = read_json("sizes.json").get(contest.app, {}).get(QUICK_SIZE, "").split() or contest.options
            self.found[key] = {member.name: self.search(contest, member, options + member.own)
                               for member in contest.members if not member.is_again}
        return self.found[key]

    def search(self, contest, member, options):
        for _ in range(2):
            try:
                said = self.cluster.job(contest.place, member, contest.app,
                                        options + ["--tune", "--tune-seconds", "%g" % self.seconds])
                break
            except Late as failure:
                late = failure
            except Failed as failure:
                return failure
        else:
            return late
        return re.search(r"^chosen:(.*)$", said, re.MULTILINE).group(1).split()


# --- The time that there is -----------------------------------------------------------------------------

class Turns:
    """Shares the time: each contest gets `least` runs before one gets more, up to `most`. A contest begins only if
    those that have begun can still get their least; the others are missing."""

    def __init__(self, seconds, least, most, clock=time.monotonic):
        self.clock = clock
        self.seconds = seconds
        self.end = clock() + seconds
        self.least = min(least, most)
        self.most = most

    def left_s(self):
        return self.end - self.clock()

    def take(self, contests, begin, run, after_round=lambda: None, ahead_s=lambda _: 0, is_last=lambda _: False):
        """begin(contest), which takes about ahead_s(contest), before its first run(contest). Those that is_last(contest) get more
        than the least after the others have the most. Returns whether all have had their least."""
        begun = []
        for contest in contests:
            known = sum(one.cost_s for one in begun)
            if begun and self.left_s() < ahead_s(contest) + known * (self.least - 1) + known / len(begun) * self.least:
                break
            begin(contest)
            run(contest)
            begun.append(contest)
        after_round()
        # (The least fit, as far as the first runs tell; a tenth more is allowed to them.)
        self.rounds(begun, self.least - 1, 0.1 * self.seconds, run, after_round)
        for last in (False, True):
            self.rounds([one for one in begun if is_last(one) == last], self.most - self.least, 0, run, after_round)
        return len(begun) == len(contests) and all(contest.runs >= self.least for contest in begun)

    def rounds(self, contests, number, allowed_s, run, after_round):
        for _ in range(number if contests else 0):
            for contest in contests:
                if self.left_s() + allowed_s >= contest.cost_s:
                    run(contest)
            after_round()


# --- Results --------------------------------------------------------------------------------------------

def gain_text(gain):
    if gain is None:
        return "missing"
    return "%.2f" % gain.value + (" (%.2f to %.2f)" % (gain.low, gain.high) if gain.has_interval else "")


def print_rows(rows):
    widths = [max(len(row[at]) for row in rows if at < len(row)) for at in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    print()


def row_of(contest, names):
    best = contest.best_blocking()
    start = [contest.app, contest.size, contest.place.text()]
    if best is None:
        return start + ["missing"]
    share = contest.share(best)
    goal = contest.goal()
    return start + [str(contest.runs), best, "%.3g" % (statistics.median(contest.times(best).values()) / 1e6),
                    "%.0f %%" % (100 * share), "%.2f" % (1 / (1 - share)), "%.2f" % (1 / max(share, 1 - share)),
                    "" if goal is None else "%g%s" % (goal, " missed" if contest.misses_its_goal() else "")] + \
        [gain_text(contest.gain(name, best)) for name in names]


def print_table(contests):
    """A table for each list of members."""
    by_members = {}
    for contest in contests:
        names = tuple(member.name for member in contest.members if not member.is_reference and not member.is_again)
        by_members.setdefault(names, []).append(contest)
    for names, group in by_members.items():
        print_rows([["application", "share of", "links", "runs", "best blocking", "seconds", "share", "bound", "hidden", "goal"] +
                    list(names)] + [row_of(contest, names) for contest in group])
    print("share: of communication in the best blocking version; bound: 1 / (1 - share), without all communication; hidden: with all\n"
          "of the shorter one of computation and communication hidden. goal: of weft. The columns behind: the best blocking time /\n"
          "the member's, the median of the runs with its 95 % interval (from 6 runs on).")
    for contest in contests:
        for name, why in contest.missing.items():
            print("missing: %s, %s, %s: %s" % (contest.app, contest.size, name, why))
        if contest.runs == 0:
            print("missing: %s, %s, %s: there was no time left" % (contest.app, contest.size, contest.place.text()))


def profiled(contest):
    """The same problem, with those members whose time is to be split by phases."""
    best = contest.best_blocking()
    fastest_mpi = contest.fastest(lambda member: member.backend == "mpi" and not member.is_preloaded)
    members = [member for member in contest.members if member.name in (best, "weft", fastest_mpi)]
    one = Contest("profile of " + contest.app, "%s: where does the time go, and what could be hidden?" % contest.app, contest.app,
                  contest.size, "", members, contest.place)
    one.arguments = {member.name: contest.arguments[member.name] + ["--profile"] for member in members}
    return one


def print_profile(contest):
    rows = [["application", "share of", "who"] + profile.HEADING]
    for member in contest.members:
        rows += [[contest.app, contest.size, member.name] + row for row in profile.rows(list(contest.profiles[member.name].values()))]
    print_rows(rows)
    for text in profile.bounds_words({member.name: list(contest.samples[member.name].values()) for member in contest.members},
                                     {name: list(of_runs.values()) for name, of_runs in contest.profiles.items()}):
        print("%s, %s, %s: %s" % (contest.app, contest.size, contest.place.text(), text))
    print()


def output_of(command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    except OSError:
        return ""
    return done.stdout.decode(errors="replace").strip()


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return found.group(1) if found else "unknown CPU"


def run_line(build, contests, options):
    scenarios = {}
    for contest in contests:
        first = next((member.name for member in contest.members if member.is_blocking), contest.members[0].name)
        scenarios.setdefault(contest.scenario, {
            "name": contest.scenario, "question": contest.question, "says": "ratio", "column": "total", "baseline": first,
            "members": [{"name": member.name} for member in contest.members]})
    version = output_of([os.path.join(build, "weft"), "--version"]).split()
    return {"kind": "run", "schema": 1, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "command": "./dev bench --apps" + ("=all" if options.what == "all" else ""),
            "weft": {"version": version[-1] if version else "",
                     "commit": output_of(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"])},
            "host": {"cpu": cpu_model(), "cpus": os.cpu_count(), "kernel": os.uname().release},
            "seed": options.seed, "settings": {}, "scenarios": scenarios}


def write_samples(path, build, contests, options, seconds, is_complete):
    with open(path, "w", encoding="utf-8") as file:
        def write(line):
            file.write(json.dumps(line) + "\n")

        write(run_line(build, contests, options))
        number = 0
        for at, contest in enumerate(contests):
            for member in contest.members:
                if not contest.samples[member.name]:
                    write({"kind": "missing", "scenario": contest.scenario, "member": member.name,
                           "why": contest.missing.get(member.name, "there was no time left for " + contest.place.text())})
                    continue
                head = contest.heads[member.name]
                write({"kind": "cell", "id": number, "scenario": contest.scenario, "contest": at, "member": member.name,
                       "again": member.is_again, "collective": "%s, %s" % (contest.app, contest.size),
                       "bytes": head["bytes"], "ranks": contest.place.ranks, "nodes": contest.place.nodes,
                       "link": contest.place.link.head(), "columns": COLUMNS,
                       "backend": member.backend, "settings": member.settings,
                       "arguments": " ".join(contest.arguments[member.name]), "notes": head["notes"]})
                for run, ranks in sorted(contest.samples[member.name].items()):
                    line = {"kind": "sample", "cell": number, "repetition": run, "order": run, "ranks": ranks}
                    if run in contest.profiles[member.name]:
                        line["phases"] = contest.profiles[member.name][run]
                    write(line)
                number += 1
        write({"kind": "end", "seconds": seconds, "complete": is_complete})


# --- Shares of communication, over the sizes of a ladder ------------------------------------------------

def proposed(shares):
    """A step of the ladder for each band: within it and next to its middle; else the next to it, each step once."""
    found = {}
    for name, (low, high) in BANDS.items():
        left = {step: share for step, share in shares.items() if step not in [one for one, _ in found.values()]}
        if left:
            middle = (low + high) / 200
            step = min(left, key=lambda one: abs(left[one] - middle))
            found[name] = (step, low / 100 <= left[step] <= high / 100)
    return found


def carried_rate(cluster, app, options):
    """The fastest of RATES at which the switch of links with delay takes at most a fifth of a core, both ways at once."""
    link = Link(RATES[0] + "+0.5ms")
    cluster.job(Place(link), Member("weft-blocking"), app, options)
    found = re.search(r"\(([\d.]+) s per GB\)", cluster.said)
    if not found:
        raise Failed("weft run says nothing of its switch")
    per_byte = float(found.group(1)) / 1e9
    fits = [rate for rate in RATES if 2 * Link(rate).bits() / 8 * per_byte <= SWITCH_SHARE_MAX]
    return (fits or RATES[-1:])[0], float(found.group(1))


def calibrate(cluster, wanted, link, minutes):
    """Prints the share of communication of each step, and what to put into apps/sizes.json."""
    end = time.monotonic() + 60 * minutes
    ladders = read_json("ladders.json")
    sizes = read_json("sizes.json")
    is_well = True
    rows = [["application", "share", "seconds", "options"]]
    for at, app in enumerate(wanted):
        shares = {}
        until = time.monotonic() + (end - time.monotonic()) / (len(wanted) - at)
        for step in ladders.get(app, []):
            if shares and time.monotonic() > until:
                print("%s: no time left for %s" % (app, step))
                is_well = False
                continue
            try:
                _, samples = cluster.samples(Place(link), Member("weft-blocking"), app,
                                             (step + " " + BLOCKING.get(app, "")).split() + ["--repetitions", "3"])
            except Failed as failure:
                print("%s %s: %s" % (app, step, failure))
                is_well = False
                continue
            shares[step] = share_of([line["ranks"] for line in samples])
            seconds = max(rank[0] for rank in samples[1]["ranks"]) / 1e6
            rows.append([app, "%.0f %%" % (100 * shares[step]), "%.3g" % seconds, step])
            print("  ".join(rows[-1]), flush=True)
        chosen = proposed(shares)
        sizes[app] = {name: step for name, (step, _) in chosen.items()} or sizes.get(app, {})
        for name, (step, is_inside) in chosen.items():
            if not is_inside:
                print("%s: no size has %s %%; the next one: %.0f %%, %s" % (app, name, 100 * shares[step], step))
    print()
    print_rows(rows)
    if "fft" in wanted and sizes.get("fft"):
        try:
            print("the switch of links with delay takes %.2f s for a GB, and carries %s" % carried_rate(
                cluster, "fft", list(sizes["fft"].values())[-1].split())[::-1])
        except Failed as failure:
            print("the switch of links with delay: %s" % failure)
    print("apps/sizes.json:\n%s" % json.dumps(sizes, indent=2))
    return 0 if is_well else 1


# --- The command ----------------------------------------------------------------------------------------

def links_from(text):
    try:
        return [Link(one) for one in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error))


def groups_from(text):
    found = text.split(",")
    if not set(found) <= set(GROUPS):
        raise argparse.ArgumentTypeError("expected some of %s" % ",".join(GROUPS))
    return found


def parse(arguments=None):
    parser = argparse.ArgumentParser(prog="./dev bench --apps", allow_abbrev=False)
    parser.add_argument("build")
    parser.add_argument("samples")
    parser.add_argument("what", choices=("quick", "all"))
    parser.add_argument("--against", default="mpich,openmpi,impi", help="MPIs")
    parser.add_argument("--app", default="", help="only these applications")
    parser.add_argument("--only", type=groups_from, default=GROUPS, help="some of " + ",".join(GROUPS))
    parser.add_argument("--links", type=links_from, default=None, help="of the nodes, each a rate and perhaps a delay: "
                        "1gbit,500mbit+0.5ms (default with all; else the first of these)")
    parser.add_argument("--runs", type=int, default=0, help="of each member, at most; 0: 3, with all 10")
    parser.add_argument("--minutes", type=float, default=0, help="for all of it; 0: 14, with all 60, with --calibrate 5")
    parser.add_argument("--tune-seconds", type=float, default=6, help="with all: of each member's search")
    parser.add_argument("--profile", action="store_true", help="split the time of those that miss their goal by phases")
    parser.add_argument("--calibrate", action="store_true", help="only measure shares of communication, and propose sizes")
    parser.add_argument("--seed", type=int, default=1, help="decides the order of the members")
    options = parser.parse_args(arguments)
    is_all = options.what == "all"
    options.runs = options.runs or (10 if is_all else 3)
    options.minutes = options.minutes or (5 if options.calibrate else 60 if is_all else 14)
    options.links = options.links or links_from("1gbit,500mbit+0.5ms" if is_all else "1gbit")
    return options


def usable(build, apps, mpis):
    """Those of them that can be measured here; the others are named."""
    known = read_json("sizes.json")
    for app in apps or []:
        if app not in known:
            sys.exit("no application %s; expected some of %s" % (app, ", ".join(known)))
    wanted = []
    for app in apps or known:
        if os.path.exists(os.path.join(build, "apps", app)):
            wanted.append(app)
        else:
            print("without %s: the build has no such application" % app)
    found = []
    for mpi in mpis:
        why = compile_part(build, mpi) if mpi in MPIS else "expected one of " + ", ".join(MPIS)
        if why:
            print("without %s: %s" % (mpi, why))
        else:
            found.append(mpi)
    return wanted, found


def measure(options, cluster, contests):
    """Runs them, and writes what there is after each round. Returns whether all have their runs, and the profiles."""
    began = time.monotonic()
    searches = Searches(cluster, options.tune_seconds)
    order = random.Random(options.seed)
    shown = list(contests)
    rounds = []

    def write(is_complete):
        write_samples(options.samples, cluster.build, shown, options, time.monotonic() - began, is_complete)

    def begin(contest):
        if contest.is_tuned:
            contest.take(searches.of(contest))

    def run(contest):
        contest.run(cluster, order)
        if contest.runs == 1:
            print("%s, %s, %s: a run takes %.1f s (%.0f s)" % (contest.app, contest.size, contest.place.text(), contest.cost_s,
                                                            time.monotonic() - began), flush=True)

    def after_round():
        rounds.append(len(rounds) + 1)
        print("round %d (%.0f s)" % (rounds[-1], time.monotonic() - began), flush=True)
        write(False)

    is_complete = Turns(60 * options.minutes, LEAST_RUNS, options.runs).take(contests, begin, run, after_round,
                                                                               searches.seconds_for,
                                                                               lambda one: bool(one.place.link.delay))
    profiles = [profiled(contest) for contest in contests if options.profile and contest.misses_its_goal()]
    for contest in profiles:
        for _ in range(PROFILE_RUNS):
            contest.run(cluster, order)
    shown += profiles
    write(is_complete)
    return is_complete, profiles


def main():
    options = parse()
    build = os.path.abspath(options.build)
    wanted, mpis = usable(build, [app for app in options.app.split(",") if app],
                          [mpi for mpi in options.against.split(",") if mpi and not options.calibrate])
    cluster = Cluster(build)
    if options.calibrate:
        return calibrate(cluster, wanted, options.links[0], options.minutes)
    with_preload = os.path.exists(os.path.join(build, "libweft_mpi.so"))
    if mpis and not with_preload:
        print("without the preload: the build has no libweft_mpi.so")
    contests = contests_of(options.what, wanted, mpis, with_preload, options.links, options.only)
    if not contests:
        return 1
    _, profiles = measure(options, cluster, contests)
    print()
    print_table(contests)
    for contest in profiles:
        print_profile(contest)
    return 1 if any(contest.missing or contest.runs == 0 for contest in contests) else 0


if __name__ == "__main__":
    sys.exit(main())
