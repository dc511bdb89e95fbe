"""Runs the test suite of mpi4py's wheel without and with Weft: every test must have the same outcome.

compare.py MPI RANKS BUILD

The suite takes minutes. With WEFT_TEST_ALL=1 each MPI runs it with one number of ranks, chosen by WEFT_TEST_TURN; with
WEFT_TEST_ALL=every, with all of them.

Tests that fail without Weft are in known_failures.txt, and no others. Status 77: skipped, for the reason printed.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
MPIS = os.environ.get("WEFT_TEST_MPI", os.path.join(SOURCE, ".cache", "mpi"))

# As tests/mpi/mpis.h; in addition waiting ranks yield their cores, because there may be fewer cores than ranks.
SETTINGS = {
    "mpich": {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1", "MPIR_CVAR_POLLS_BEFORE_YIELD": "100"},
    "openmpi": {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                "PRTE_MCA_hwloc_default_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1",
                "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm,tcp"},
    "impi": {"I_MPI_ROOT": "%s", "LD_LIBRARY_PATH": "%s/lib", "FI_PROVIDER_PATH": "%s/lib", "I_MPI_PIN": "0"},
}
RANKS_MAX = 5  # as in cmake/tests.cmake
STALL_SECONDS = 150  # if no test begins or ends on any rank for this long, it hangs
STALL_SECONDS_OF_KNOWN = 30

# Open MPI's Fortran bindings store into the requests of these as if they were their own.
ALWAYS_LEFT = {"openmpi": r"MPI_I\w*alltoallw|MPI_\w*(lltoallw|v)_init|MPI_Reduce_scatter_init"}


class Job:
    """A run of the suite, or of some tests."""

    def __init__(self, mpi, ranks, folder):
        self.mpi = mpi
        self.ranks = ranks
        self.folder = folder
        self.status = None  # None: it was stopped
        self.outcomes = {}  # test -> its outcome on each rank; None: it did not end there
        self.reasons = {}  # test -> the reason on the first rank where it failed

    def run(self, preload, arguments, stall_seconds):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        home = os.path.join(MPIS, self.mpi)
        tests = os.path.join(MPIS, "mpi4py", "test")
        env = dict(os.environ, PYTHONPATH=tests, PATH=os.path.join(home, "bin") + os.pathsep + os.environ["PATH"])
        env.update({name: value.replace("%s", home) for name, value in SETTINGS[self.mpi].items()})
        command = ["mpiexec", "-n", str(self.ranks), "env"] + preload + [
            os.path.join(home, "bin", "python3"), os.path.join(HERE, "rank.py"), self.folder,
            tests] + arguments
        with open(os.path.join(self.folder, "output"), "wb") as output:
            process = subprocess.Popen(command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            self.wait(process, stall_seconds)
        self.read()

    def wait(self, process, stall_seconds):
        size, changed = -1, time.monotonic()
        while True:
            try:
                self.status = process.wait(timeout=0.2)
                return
            except subprocess.TimeoutExpired:
                pass
            new_size = sum(os.path.getsize(path) for path in self.files())
            if new_size != size:
                size, changed = new_size, time.monotonic()
            elif time.monotonic() - changed > stall_seconds:
                self.end(process)
                return

    @staticmethod
    def end(process):
        # The launcher ends its ranks; if it does not, it is killed.
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(timeout=10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass

    def files(self):
        return glob.glob(os.path.join(self.folder, "[0-9]*"))

    def read(self):
        for path in self.files():
            rank = int(os.path.basename(path))
            with open(path, errors="replace") as file:
                for line in file:
                    what, _, rest = line.rstrip("\n").partition("\t")
                    if not rest:
                        continue
                    test, _, why = rest.partition("\t")
                    outcomes = self.outcomes.setdefault(test, [None] * self.ranks)
                    if what != "begins" and outcomes[rank] not in ("failed", "error"):
                        outcomes[rank] = what
                    if why:
                        self.reasons.setdefault(test, why)

    def failing(self):
        return {test for test, outcomes in self.outcomes.items() if {"failed", "error", None} & set(outcomes)}

    def output(self):
        with open(os.path.join(self.folder, "output"), errors="replace") as file:
            return file.read()

    def problem(self):
        """Why the suite did not run to its end; empty: it did."""
        if self.status == 0:
            return ""
        where = ", ".join("%s on rank %d" % (test, rank) for test, outcomes in self.outcomes.items()
                          for rank, outcome in enumerate(outcomes) if outcome is None)
        return "%s in %s\n%s" % ("it hung" if self.status is None else "it ended with status %d" % self.status,
                                 where or "no test", "\n".join(self.output().splitlines()[-30:]))


def known_failures(mpi, ranks):
    """What this MPI gets wrong by itself: test -> "fails" or "stops"."""
    known = {}
    with open(os.path.join(HERE, "known_failures.txt")) as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            name, numbers, how, test = line.strip().split("|")
            if name == mpi and str(ranks) in numbers.split():
                known[test] = how
    return known


def statistics(text):
    """Function -> calls that Weft took and calls that it left, as WEFT_STATS=1 prints them."""
    rows = re.findall(r"^weft: (MPI_\w+) +(\d+) +(\d+) ", text, re.MULTILINE)
    return {name: (int(taken), int(left)) for name, taken, left in rows}


def not_taken(mpi, rows):
    """Errors in the statistics: mpi4py's suite calls all collectives."""
    with open(os.path.join(SOURCE, "src", "mpi_dropin", "collectives.def")) as file:
        names = re.findall(r"^COLLECTIVE\((\w+), (\w+),", file.read(), re.MULTILINE)
    wrong = []
    for name in ["MPI_I" + small for _, small in names] + ["MPI_%s_init" % large for large, _ in names]:
        taken = rows.get(name, (0, 0))[0]
        is_left = re.fullmatch(ALWAYS_LEFT.get(mpi, "none"), name)
        if (taken != 0) if is_left else (taken == 0):
            wrong.append("%s: %d calls were taken" % (name, taken))
    return wrong if names else ["no collectives in collectives.def"]


def absence(mpi, ranks, library):
    if "WEFT_TEST_ALL" not in os.environ:
        return "for a run of all tests"
    turn = 1 + (int(os.environ.get("WEFT_TEST_TURN", "0")) + sorted(SETTINGS).index(mpi)) % RANKS_MAX
    if os.environ["WEFT_TEST_ALL"] != "every" and ranks != turn:
        return "this run's turn is %d ranks; WEFT_TEST_ALL=every tries all" % turn
    if not os.path.exists(library):
        return "there is no " + library
    for path in (os.path.join(MPIS, mpi, "bin", "mpiexec"), os.path.join(MPIS, "mpi4py", "test", "main.py")):
        if not os.path.exists(path):
            return "there is no %s; ./dev test --all installs it" % path
    if not glob.glob(os.path.join(MPIS, mpi, "lib", "python3*", "site-packages", "mpi4py", "MPI.openmpi.*.so")):
        return "mpi4py's wheel is not installed for %s in %s; ./dev test --all does it" % (mpi, MPIS)
    return ""


def main():
    mpi, ranks, build = sys.argv[1], int(sys.argv[2]), os.path.abspath(sys.argv[3])
    library = os.path.join(build, "libweft_mpi.so")
    if absence(mpi, ranks, library):
        print("skipped: " + absence(mpi, ranks, library))
        return 77
    folder = os.path.join(build, "tests", "dropin", "mpi4py", "%s_%d" % (mpi, ranks))
    problems = []
    known = known_failures(mpi, ranks)
    # Tests that stop the whole suite are run alone, without Weft, and left out of the suite.
    stopping = sorted(test for test, how in known.items() if how == "stops")
    for test in stopping:
        one = Job(mpi, ranks, os.path.join(folder, "stops"))
        one.run([], [test], STALL_SECONDS_OF_KNOWN)
        if not one.problem():
            problems.append("%s is known to stop without Weft, and did not" % test)
    arguments = [word for test in stopping
                 for word in (("-x", "*" + test) if "." in test else ("-e", "^%s[.]py$" % test))]

    alone, weft = (Job(mpi, ranks, os.path.join(folder, name)) for name in ("alone", "weft"))
    begin = time.monotonic()
    alone.run([], arguments, STALL_SECONDS)
    middle = time.monotonic()
    weft.run(["LD_PRELOAD=" + library, "WEFT_STATS=1"], arguments, STALL_SECONDS)
    print("%d seconds without Weft, %d with it" % (middle - begin, time.monotonic() - middle))

    for job, name in (alone, "without Weft"), (weft, "with Weft"):
        if job.problem():
            problems.append("%s: %s" % (name, job.problem()))
    if len(alone.outcomes) < 2000:
        problems.append("there are only %d tests" % len(alone.outcomes))
    failing = {test for test, how in known.items() if how == "fails"}
    for test in sorted(alone.failing() - failing):
        problems.append("%s fails without Weft, and is not known to: %s %s" %
                        (test, alone.outcomes[test], alone.reasons.get(test, "")))
    for test in sorted(failing - alone.failing()):
        problems.append("%s is known to fail without Weft, and did not: %s" % (test, alone.outcomes.get(test)))
    for test in sorted(set(alone.outcomes) | set(weft.outcomes)):
        before, after = alone.outcomes.get(test), weft.outcomes.get(test)
        if before != after:
            problems.append("%s: %s without Weft, %s with it: %s" %
                            (test, before, after, weft.reasons.get(test, alone.reasons.get(test, ""))))
    rows = statistics(weft.output())
    problems += not_taken(mpi, rows)

    counts = {}
    for outcomes in weft.outcomes.values():
        worst = [what for what in ("error", "failed", "ok", "skipped") if what in outcomes] or ["not ended"]
        counts[worst[0]] = counts.get(worst[0], 0) + 1
    print("%d tests: %s; %d run alone, known to stop; %d calls taken, %d of nonblocking and persistent ones left" %
          (len(weft.outcomes), ", ".join("%d %s" % (n, what) for what, n in sorted(counts.items())), len(stopping),
           sum(taken for taken, _ in rows.values()),
           sum(left for name, (_, left) in rows.items() if name.startswith("MPI_I") or name.endswith("_init"))))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
