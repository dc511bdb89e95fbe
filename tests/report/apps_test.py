"""tools/apps.py: what it computes of the applications' samples, and that the report reads what it writes."""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import random
import tempfile
import unittest
from unittest import mock

from report import samples
from report.experiment import experiments

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPEC = importlib.util.spec_from_file_location("apps", os.path.join(ROOT, "tools", "apps.py"))
apps = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(apps)

# Seconds of the slowest rank, and how many of them it waits.
TIMES = {"weft blocking": (10.0, 4.0), "weft": (6.4, 0.4), "weft again": (6.4, 0.4),
         "mpich blocking": (8.0, 3.0), "mpich": (8.0, 2.0), "mpich preload": (5.0, 0.5)}


class FakeCluster:
    """Runs no job: writes what an application would have."""

    def __init__(self, failing=()):
        self.failing = failing
        self.jobs = []

    def job(self, member, app, arguments):
        self.jobs.append((member.name, arguments))
        if member.name in self.failing:
            raise apps.Failed("status 1: cg: rank 1: the true residual is 1")
        if "--tune" in arguments:
            return "tried --tests 4: 1 s\nchosen: --block 7 --tests %d\n" % len(member.name)
        total, wait = (1e6 * seconds for seconds in TIMES[member.name])
        lines = [{"kind": "run"}, {"kind": "cell", "bytes": 4096, "notes": {"iterations": 9}},
                 {"kind": "sample", "ranks": [[total, total - wait, 0, 0, wait], [total - 1, total - wait - 1, 0, 0, wait]]}]
        with open(arguments[arguments.index("--json") + 1], "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        return ""


def contest_of(runs, cluster=None, tuned=False):
    contest = apps.Contest("app cg", "how much?", "cg", "40-50 %", "--x 8", apps.members_of(["mpich"]))
    cluster = cluster or FakeCluster()
    if tuned:
        contest.tune(cluster)
    for run in range(runs):
        contest.run(cluster, run, random.Random(run))
    return contest


def written(contest, is_complete=True):
    options = argparse.Namespace(what="quick", seed=1, ranks=2, rate="1gbit", delay="0.5ms")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "samples")
        apps.write_samples(path, "/nowhere", [contest], options, 1.0, is_complete)
        return samples.read(path)


class Apps(unittest.TestCase):
    def test_gains_are_over_the_fastest_blocking_version(self):
        contest = contest_of(6)
        self.assertEqual(contest.best_blocking(), "mpich blocking")
        self.assertAlmostEqual(contest.share("mpich blocking"), 3 / 8, 3)
        gain = contest.gain("weft", "mpich blocking")
        self.assertAlmostEqual(gain.value, 1.25)
        self.assertTrue(gain.has_interval)
        self.assertFalse(contest_of(5).gain("weft", "mpich blocking").has_interval)

    def test_the_table_has_share_bound_and_gains(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            apps.print_table([contest_of(3)])
        heading, row = out.getvalue().splitlines()[:2]
        self.assertEqual(heading.split(), "application share of best blocking seconds share bound weft mpich mpich preload".split())
        self.assertEqual(row.split(), "cg 40-50 % mpich blocking 8 38 % 1.60 1.25 1.00 1.60".split())

    def test_each_member_runs_with_what_its_search_has_found(self):
        cluster = FakeCluster()
        contest_of(1, cluster, tuned=True)
        found = {name: arguments for name, arguments in cluster.jobs if "--json" in arguments}
        self.assertEqual(found["mpich"][:-2], "--x 8 --block 7 --tests 5".split())
        self.assertEqual(found["weft again"][:-2], found["weft"][:-2])
        self.assertEqual(sum("--tune" in arguments for _, arguments in cluster.jobs), 5)

    def test_a_member_that_fails_is_missing_by_name(self):
        contest = contest_of(2, FakeCluster(failing=["mpich"]))
        self.assertEqual(list(contest.missing), ["mpich"])
        with contextlib.redirect_stdout(io.StringIO()) as out:
            apps.print_table([contest])
        self.assertIn("missing: cg, 40-50 %, mpich: status 1: cg: rank 1: the true residual is 1", out.getvalue())
        runs, _ = written(contest)
        self.assertEqual([line["member"] for line in runs[0].missing], ["mpich"])

    def test_the_report_reads_the_samples(self):
        runs, interruption = written(contest_of(6))
        self.assertEqual(interruption, "")
        experiment, = experiments(runs, interruption)
        contest, = experiment.contests
        self.assertEqual(contest.baseline.name, "weft blocking")
        self.assertEqual(contest.again.name, "weft again")
        weft = next(member for member in contest.members if member.name == "weft")
        self.assertAlmostEqual(contest.ratio(weft).value, 0.64)
        self.assertAlmostEqual(weft.estimate("wait").value, 0.4e6)
        self.assertIn("500 us delay", experiment.conditions())

    def test_a_figure_has_members_with_settings(self):
        figure = {"app": "cg", "question": "which algorithm?", "arguments": "--x 4", "mpis": True, "members": [
            {"name": "flat blocking", "backend": "weft-blocking", "settings": "WEFT_ALGORITHM=alltoallv=flat"},
            {"name": "flat", "settings": "WEFT_ALGORITHM=alltoallv=flat WEFT_ENGINE=manual"}]}
        files = {"sizes.json": {"cg": {"40-50": "--x 8"}}, "figures.json": {"sci-fig4-cg": figure}}
        with mock.patch.object(apps, "read_json", files.get):
            self.assertEqual(len(apps.contests_of("quick", ["cg"], ["mpich"], True)), 1)
            of_figure = apps.contests_of("all", ["cg"], ["mpich"], True)[1]
        self.assertEqual([member.name for member in of_figure.members], ["flat blocking", "flat", "mpich blocking", "mpich"])
        options = argparse.Namespace(ranks=2, rate="1gbit", delay="0")
        line = apps.Cluster("/build", options).words(of_figure.members[1], "cg", of_figure.arguments["flat"])
        self.assertEqual(" ".join(line), "env WEFT_ALGORITHM=alltoallv=flat WEFT_ENGINE=manual /build/weft run -n 2 --nodes 2 "
                         "--rate 1gbit --bind core /build/apps/cg --backend weft --x 4")

    def test_an_unfinished_run_says_so(self):
        _, interruption = written(contest_of(1), is_complete=False)
        self.assertIn("interrupted", interruption)


if __name__ == "__main__":
    unittest.main()
