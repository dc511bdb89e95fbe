"""Measures the applications (apps/) on an emulated cluster: each with Weft and with MPIs, blocking and nonblocking.

usage: apps.py BUILD SAMPLES quick|all [OPTIONS]

quick: the middle size of each application (apps/sizes.json), 3 alternating runs of each member, at most 15 minutes. all: three
sizes, and the figures of apps/figures.json; each member tuned by the same search (--tune), 10 alternating runs. BUILD is a
release build; WEFT_BENCH_MPI_NAME names an MPI's folder. All samples go to SAMPLES, as `weft bench --json` writes them.
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

from report import stats, words  # noqa: E402 (of the tree)

# As bench/player/mpi_job.cpp: settings, settings and options of mpiexec between emulated nodes; %s: the MPI's folder.
MPIS = {
    "mpich": ("", "UCX_TLS=tcp,self UCX_NET_DEVICES=eth0",
              "-launcher ssh -launcher-exec $WEFT_CLUSTER_AGENT -localhost $WEFT_CLUSTER_ADDRESS "
              "-hosts $WEFT_CLUSTER_NODES -ppn 1"),
    "openmpi": ("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none", "",
                "--prtemca plm_ssh_agent $WEFT_CLUSTER_AGENT --prtemca plm_ssh_no_tree_spawn 1 "
                "--host $WEFT_CLUSTER_NODES --map-by ppr:1:node --mca pml ob1 --mca btl tcp,sm,self "
                "--mca btl_tcp_if_include eth0"),
    "impi": ("I_MPI_ROOT=%s LD_LIBRARY_PATH=%s/lib FI_PROVIDER_PATH=%s/lib I_MPI_PIN=0",
             "I_MPI_HYDRA_BOOTSTRAP=ssh I_MPI_HYDRA_BOOTSTRAP_EXEC=$WEFT_CLUSTER_AGENT "
             "I_MPI_HYDRA_IFACE=$WEFT_CLUSTER_INTERFACE I_MPI_FABRICS=ofi FI_PROVIDER=tcp FI_TCP_IFACE=eth0",
             "-hosts $WEFT_CLUSTER_NODES -ppn 1"),
}
QUICK_SIZE = "40-50"
TESTS = 16  # without a search: of MPIs, which progress in calls
JOB_TIMEOUT_S = 300
COLUMNS = ["total", "work", "start", "tests", "wait"]


class Failed(Exception):
    """A job that failed, in a sentence."""


# --- Jobs -----------------------------------------------------------------------------------------------

class Member:
    """Who carries out an application's collectives."""

    def __init__(self, backend, mpi="", is_preloaded=False, is_again=False, settings="", name=""):
        self.backend = backend
        self.mpi = mpi
        self.is_preloaded = is_preloaded
        self.is_again = is_again
        self.settings = settings  # of the environment
        self.is_blocking = backend.endswith("-blocking")
        self.name = name or " ".join(filter(None, [mpi or "weft", "preload" if is_preloaded else "",
                                                   "blocking" if self.is_blocking else "", "again" if is_again else ""]))

    def arguments(self):
        """Without a search."""
        return ["--tests", str(TESTS)] if self.backend == "mpi" else []


def members_of(mpis, with_preload=True):
    found = [Member("weft-blocking"), Member("weft"), Member("weft", is_again=True)]
    for mpi in mpis:
        found += [Member("mpi-blocking", mpi), Member("mpi", mpi)]
        if with_preload:
            found.append(Member("mpi", mpi, is_preloaded=True))
    return found


class Cluster:
    """Starts jobs on emulated nodes, one rank on each."""

    def __init__(self, build, options):
        self.build = build
        self.ranks = options.ranks
        self.run = [os.path.join(build, "weft"), "run"]
        self.nodes = ["--nodes", str(options.ranks), "--rate", options.rate, "--bind", "core"]
        if options.delay != "0":
            self.nodes += ["--delay", options.delay]

    def words(self, member, app, arguments):
        program = [os.path.join(self.build, "apps", app), "--backend", member.backend] + arguments
        env = ["env"] + member.settings.split()
        if not member.mpi:
            return env + self.run + ["-n", str(self.ranks)] + self.nodes + program
        settings, around, options = MPIS[member.mpi]
        home = home_of(member.mpi)
        preload = [os.path.join(self.build, "weft"), "preload"] if member.is_preloaded else []
        text = "export PATH=%s/bin:$PATH %s %s; exec mpiexec %s -n %d %s" % (
            home, settings.replace("%s", home), around, options, self.ranks,
            " ".join(preload + program + ["--mpi", part_of(self.build, member.mpi)]))
        return env + self.run + ["--exec-per-node"] + self.nodes + ["sh", "-c", text]

    def job(self, member, app, arguments):
        """What it printed; raises Failed."""
        try:
            done = subprocess.run(self.words(member, app, arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=JOB_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Failed("it took longer than %d s" % JOB_TIMEOUT_S)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            of_app = [line for line in said if line.startswith(app + ": rank ")]
            raise Failed("status %d: %s" % (done.returncode, (of_app or said or ["no output"])[-1]))
        return done.stdout.decode(errors="replace")


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

class Contest:
    """One problem of an application: its members, by turns, with their samples."""

    def __init__(self, scenario, question, app, size, options, members):
        self.scenario = scenario
        self.question = question
        self.app = app
        self.size = size
        self.options = options.split()
        self.members = members
        self.arguments = {member.name: self.options + member.arguments() for member in members}
        self.samples = {member.name: {} for member in members}  # by run: times of each rank
        self.heads = {}    # cells as the application writes them
        self.missing = {}  # why

    def tune(self, cluster):
        for member in self.members:
            twin = member.name.replace(" again", "")
            if member.is_again and twin in self.arguments:
                self.arguments[member.name] = self.arguments[twin]
                continue
            try:
                said = cluster.job(member, self.app, self.options + ["--tune"])
                self.arguments[member.name] = self.options + re.search(r"^chosen:(.*)$", said, re.MULTILINE).group(1).split()
            except Failed as failure:
                self.missing[member.name] = str(failure)

    def run(self, cluster, number, order):
        members = [member for member in self.members if member.name not in self.missing]
        order.shuffle(members)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "samples")
            for member in members:
                try:
                    cluster.job(member, self.app, self.arguments[member.name] + ["--json", path])
                    with open(path, encoding="utf-8") as file:
                        lines = [json.loads(line) for line in file]
                    os.remove(path)
                except (Failed, OSError, ValueError) as failure:
                    self.missing[member.name] = str(failure)
                    continue
                self.heads[member.name] = next(line for line in lines if line["kind"] == "cell")
                self.samples[member.name][number] = next(line for line in lines if line["kind"] == "sample")["ranks"]

    # --- What the table says ---

    def times(self, name):
        """By run, the slowest rank's."""
        return {run: max(rank[0] for rank in ranks) for run, ranks in self.samples[name].items()}

    def best_blocking(self):
        medians = {member.name: statistics.median(self.times(member.name).values())
                   for member in self.members if member.is_blocking and self.samples[member.name]}
        return min(medians, key=medians.get, default=None)

    def share(self, name):
        """Of a blocking version's time: communication, of all ranks together."""
        at = COLUMNS.index("wait")
        return statistics.median(sum(rank[at] for rank in ranks) / sum(rank[0] for rank in ranks)
                                 for ranks in self.samples[name].values())

    def gain(self, name, best):
        """Estimate of the best blocking time / this member's."""
        return stats.ratio(self.times(best), self.times(name)) if self.samples[name] else None


def read_json(name):
    path = os.path.join(ROOT, "apps", name)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def contests_of(what, wanted, mpis, with_preload):
    """The sizes of the applications; with "all" also the figures, whose members have settings of their own."""
    found = []
    for app, sizes in read_json("sizes.json").items():
        for size, options in sizes.items():
            if app in wanted and (what == "all" or size == QUICK_SIZE):
                found.append(Contest("app " + app, "%s: how much time does overlap save?" % app, app, size + " %", options,
                                     members_of(mpis, with_preload)))
    for name, figure in (read_json("figures.json") if what == "all" else {}).items():
        if figure["app"] in wanted:
            members = [Member(member.get("backend", "weft"), is_again=member.get("again", False),
                              settings=member.get("settings", ""), name=member["name"]) for member in figure["members"]]
            if figure.get("mpis"):
                members += [member for member in members_of(mpis, False) if member.mpi]
            found.append(Contest(name, figure["question"], figure["app"], name, figure.get("arguments", ""), members))
    return found


# --- Results --------------------------------------------------------------------------------------------

def gain_text(gain):
    if gain is None:
        return "missing"
    return "%.2f" % gain.value + (" (%.2f to %.2f)" % (gain.low, gain.high) if gain.has_interval else "")


def print_table(contests):
    """A table for each list of members."""
    by_members = {}
    for contest in contests:
        names = tuple(member.name for member in contest.members if not member.is_blocking and not member.is_again)
        by_members.setdefault(names, []).append(contest)
    for names, group in by_members.items():
        rows = [["application", "share of", "best blocking", "seconds", "share", "bound"] + list(names)]
        for contest in group:
            best = contest.best_blocking()
            if best is None:
                rows.append([contest.app, contest.size, "missing"])
                continue
            share = contest.share(best)
            seconds = statistics.median(contest.times(best).values()) / 1e6
            rows.append([contest.app, contest.size, best, "%.3g" % seconds, "%.0f %%" % (100 * share),
                         "%.2f" % (1 / (1 - share))] + [gain_text(contest.gain(name, best)) for name in names])
        widths = [max(len(row[at]) for row in rows if at < len(row)) for at in range(len(rows[0]))]
        for row in rows:
            print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
        print()
    print("share: of communication in the best blocking version; bound: 1 / (1 - share). The columns behind: the best blocking\n"
          "time / the member's, the median of the runs with its 95 % interval (from 6 runs on).")
    for contest in contests:
        for name, why in contest.missing.items():
            print("missing: %s, %s, %s: %s" % (contest.app, contest.size, name, why))


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
                           "why": contest.missing.get(member.name, "there was no time left")})
                    continue
                head = contest.heads[member.name]
                write({"kind": "cell", "id": number, "scenario": contest.scenario, "contest": at, "member": member.name,
                       "again": member.is_again, "collective": "%s, %s" % (contest.app, contest.size),
                       "bytes": head["bytes"], "ranks": options.ranks, "nodes": options.ranks,
                       "link": {"rate": options.rate, "delay_us": words.microseconds(options.delay)}, "columns": COLUMNS,
                       "backend": member.backend, "settings": member.settings,
                       "arguments": " ".join(contest.arguments[member.name]), "notes": head["notes"]})
                for run, ranks in sorted(contest.samples[member.name].items()):
                    write({"kind": "sample", "cell": number, "repetition": run, "order": run, "ranks": ranks})
                number += 1
        write({"kind": "end", "seconds": seconds, "complete": is_complete})


# --- The command ----------------------------------------------------------------------------------------

def parse():
    parser = argparse.ArgumentParser(prog="./dev bench --apps", allow_abbrev=False)
    parser.add_argument("build")
    parser.add_argument("samples")
    parser.add_argument("what", choices=("quick", "all"))
    parser.add_argument("--against", default="mpich,openmpi,impi", help="MPIs")
    parser.add_argument("--app", default="", help="only these applications")
    parser.add_argument("--ranks", type=int, default=2, help="each on a node of its own")
    parser.add_argument("--rate", default="1gbit", help="of the nodes' links")
    parser.add_argument("--delay", default="0", help="of the nodes' links")
    parser.add_argument("--runs", type=int, default=0, help="of each member; 0: 3, with all 10")
    parser.add_argument("--minutes", type=float, default=0, help="after which no run begins; 0: 14, with all no limit")
    parser.add_argument("--seed", type=int, default=1, help="decides the order of the members")
    options = parser.parse_args()
    options.runs = options.runs or (10 if options.what == "all" else 3)
    options.minutes = options.minutes or (14 if options.what == "quick" else 1e9)
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


def main():
    options = parse()
    build = os.path.abspath(options.build)
    began = time.monotonic()
    wanted, mpis = usable(build, [app for app in options.app.split(",") if app],
                          [mpi for mpi in options.against.split(",") if mpi])
    with_preload = os.path.exists(os.path.join(build, "libweft_mpi.so"))
    if mpis and not with_preload:
        print("without the preload: the build has no libweft_mpi.so")
    contests = contests_of(options.what, wanted, mpis, with_preload)
    cluster = Cluster(build, options)
    order = random.Random(options.seed)
    is_complete = True
    for at, contest in enumerate(contests):
        # Each gets its part of the time that is left.
        now = time.monotonic()
        end = now + (began + 60 * options.minutes - now) / (len(contests) - at)
        print("%s, %s: " % (contest.app, contest.size), end="", flush=True)
        if options.what == "all":
            contest.tune(cluster)
            print("tuned, ", end="", flush=True)
        for run in range(options.runs):
            if run > 0 and time.monotonic() > end:
                is_complete = False
                print("no time left ", end="")
                break
            contest.run(cluster, run, order)
            print("run %d " % (run + 1), end="", flush=True)
        print("(%.0f s)" % (time.monotonic() - began), flush=True)
        write_samples(options.samples, build, contests, options, time.monotonic() - began, False)
    if contests:
        write_samples(options.samples, build, contests, options, time.monotonic() - began, is_complete)
        print()
        print_table(contests)
    return 1 if not contests or any(contest.missing for contest in contests) else 0


if __name__ == "__main__":
    sys.exit(main())
