"""tools/apps.py: what it computes of the applications' samples, how it shares its time, and that the report reads what it writes."""

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

from report import profile, samples
from report.experiment import experiments
from support import needs_matplotlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPEC = importlib.util.spec_from_file_location("apps", os.path.join(ROOT, "tools", "apps.py"))
apps = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(apps)

# Seconds of the slowest rank, and how many of them it waits.
TIMES = {"weft blocking": (10.0, 4.0), "weft": (6.4, 0.4), "weft again": (6.4, 0.4),
         "mpich blocking": (8.0, 3.0), "mpich": (8.0, 2.0), "mpich preload": (5.0, 0.5)}
PLACE = apps.Place(apps.Link("1gbit+0.5ms"))


def phase(name, hides, work_s, wait_s):
    return {"name": name, "hides": hides, "ranks": [[1e6 * (work_s + wait_s), 1e6 * work_s, 0, 0, 1e6 * wait_s]] * 2}


class FakeCluster:
    """Runs no job: gives what an application would have written."""

    build = "/nowhere"

    def __init__(self, failing=(), times=TIMES, shares=None):
        self.failing = failing
        self.times = times
        self.shares = shares or {}
        self.jobs = []
        self.said = "weft run: ... 0.74 s of CPU time for 0.625 GB (0.90 s per GB), 14 % of core 1\n"

    def job(self, place, member, app, arguments):
        self.jobs.append((member.name, arguments))
        if member.name in self.failing:
            raise apps.Failed("status 1: cg: rank 1: the true residual is 1")
        return "tried --tests 4: 1 s\nchosen: --block 7 --tests %d\n" % len(member.name)

    def samples(self, place, member, app, arguments):
        self.job(place, member, app, arguments)
        total, wait = (1e6 * seconds for seconds in self.times.get(member.name, (1.0, 0.5)))
        if self.shares:
            wait = total * self.shares[" ".join(arguments[:-2])]
        times = [[total - 1, total - wait - 1, 0, 0, wait], [total, total - wait, 0, 0, wait]]
        found = [{"kind": "sample", "ranks": [[factor * time for time in rank] for rank in times]} for factor in (0.9, 1, 7)]
        if "--profile" in arguments:
            found[1]["phases"] = [phase("inner", True, 5.0, 0.4), phase("outer", False, 1.0, 0.0)]
        return {"kind": "cell", "bytes": 4096, "notes": {"iterations": 9}}, found


def contest_of(runs, cluster=None, searches=None, app="cg", size="40-50 %"):
    contest = apps.Contest("app " + app, "how much?", app, size, "--x 8", apps.members_of(app, ["mpich"]), PLACE)
    cluster = cluster or FakeCluster()
    if searches:
        contest.take(searches.of(contest))
    for run in range(runs):
        contest.run(cluster, random.Random(run))
    return contest


def written(contests, is_complete=True):
    options = argparse.Namespace(what="quick", seed=1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "samples")
        apps.write_samples(path, "/nowhere", contests, options, 1.0, is_complete)
        return samples.read(path)


def printed(call, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        found = call(*arguments)
    return found, out.getvalue()


class Apps(unittest.TestCase):
    def test_gains_are_over_the_fastest_blocking_version(self):
        contest = contest_of(6)
        self.assertEqual(contest.best_blocking(), "mpich blocking")
        self.assertAlmostEqual(contest.share("mpich blocking"), 3 / 8, 3)
        gain = contest.gain("weft", "mpich blocking")
        self.assertAlmostEqual(gain.value, 1.25)
        self.assertTrue(gain.has_interval)
        self.assertFalse(contest_of(5).gain("weft", "mpich blocking").has_interval)

    def test_a_gather_of_each_block_is_no_reference_of_compression(self):
        members = {member.name: member for member in apps.members_of("compression", ["mpich"])}
        self.assertEqual(members["weft blocking"].arguments(), ["--at-once"])
        self.assertEqual(members["mpich blocking by block"].arguments(), [])
        times = dict(TIMES, **{"weft blocking by block": (6.0, 1.0), "mpich blocking by block": (6.0, 1.0)})
        contest = contest_of(3, FakeCluster(times=times), app="compression")
        self.assertEqual(contest.best_blocking(), "mpich blocking")
        _, out = printed(apps.print_table, [contest])
        self.assertIn("weft blocking by block", out.splitlines()[0])

    def test_what_is_computed_at_once_is_not_tuned(self):
        members = apps.members_of("fft", ["mpich"])
        contest = apps.Contest("app fft", "?", "fft", "40-50 %", "--size 4", members, apps.Place(apps.Link("1gbit")), is_tuned=True)
        contest.take({member.name: ["--planes-per-message", "2", "--window", "1"] for member in members})
        self.assertEqual(contest.arguments["mpich blocking"],
                         "--size 4 --window 1 --planes-per-message 1000000 --late 0".split())
        self.assertEqual(contest.arguments["mpich blocking by block"], "--size 4 --planes-per-message 2 --window 1".split())

    def test_the_table_has_share_bounds_and_gains(self):
        _, out = printed(apps.print_table, [contest_of(3)])
        heading, row = out.splitlines()[:2]
        self.assertEqual(heading.split(), "application share of links runs best blocking seconds share bound hidden goal weft mpich "
                         "mpich preload".split())
        self.assertEqual(row.split(), "cg 40-50 % 1gbit+0.5ms 3 mpich blocking 8 38 % 1.60 1.60 1.2 1.25 1.00 1.60".split())

    def test_a_goal_is_asked_of_the_larger_shares_on_two_nodes(self):
        self.assertFalse(contest_of(3).misses_its_goal())
        slow = FakeCluster(times=dict(TIMES, weft=(7.0, 1.0)))
        self.assertTrue(contest_of(3, slow).misses_its_goal())
        self.assertIn("1.2 missed", printed(apps.print_table, [contest_of(3, slow)])[1])
        self.assertIsNone(contest_of(0, size="20-30 %").goal())
        self.assertIsNone(contest_of(0, app="elimination").goal())

    def test_each_member_runs_with_what_its_search_has_found(self):
        cluster = FakeCluster()
        with mock.patch.object(apps, "read_json", lambda name: {"cg": {"40-50": "--x 9"}}):
            searches = apps.Searches(cluster, 6)
            contest = contest_of(1, cluster, searches)
            contest_of(1, cluster, searches)
        self.assertEqual(searches.seconds_for(contest), 0)
        contest.is_tuned, contest.app = True, "fft"
        self.assertEqual(searches.seconds_for(contest), 5 * 7)
        tuned = [arguments for _, arguments in cluster.jobs if "--tune" in arguments]
        self.assertEqual(tuned, [["--x", "9", "--tune", "--tune-seconds", "6"]] * 5, "once for all sizes")
        self.assertEqual(contest.arguments["mpich"], "--x 8 --block 7 --tests 5".split())
        self.assertEqual(contest.arguments["weft again"], contest.arguments["weft"])

    def test_what_a_search_has_found_replaces_the_same_option(self):
        self.assertEqual(apps.overridden("--blocks 1 --keys 9 --at-once".split(), "--tests 4 --blocks 2".split()),
                         "--keys 9 --at-once --tests 4 --blocks 2".split())

    def test_a_search_that_fails_is_missing_by_name(self):
        cluster = FakeCluster(failing=["mpich"])
        with mock.patch.object(apps, "read_json", lambda name: {}):
            contest = contest_of(1, cluster, apps.Searches(cluster, 6))
        self.assertEqual(list(contest.missing), ["mpich"])

    def test_a_search_whose_links_were_late_is_made_again(self):
        class LateOnce(FakeCluster):
            def job(self, place, member, app, arguments):
                found = super().job(place, member, app, arguments)
                if len(self.jobs) == 1:
                    raise apps.Late("status 2: a packet came 23 ms after its time")
                return found

        with mock.patch.object(apps, "read_json", lambda name: {}):
            contest = contest_of(1, LateOnce(), apps.Searches(LateOnce(), 6))
        self.assertEqual(contest.missing, {})
        self.assertEqual(contest.arguments["weft blocking"], "--x 8 --block 7 --tests 13".split())

    def test_a_member_that_fails_is_missing_by_name(self):
        contest = contest_of(2, FakeCluster(failing=["mpich"]))
        self.assertEqual(list(contest.missing), ["mpich"])
        _, out = printed(apps.print_table, [contest])
        self.assertIn("missing: cg, 40-50 %, mpich: status 1: cg: rank 1: the true residual is 1", out)
        runs, _ = written([contest])
        self.assertEqual([line["member"] for line in runs[0].missing], ["mpich"])

    def test_a_run_whose_links_were_late_does_not_count(self):
        class LateOnce(FakeCluster):
            def job(self, place, member, app, arguments):
                super().job(place, member, app, arguments)
                if member.name == "weft" and len(self.jobs) < 7:
                    raise apps.Late("status 2: a packet came 23 ms after its time")

        contest = contest_of(7, LateOnce())
        self.assertEqual(contest.missing, {})
        self.assertEqual(list(contest.samples["weft"]), [1, 2, 3, 4, 5, 6])
        self.assertTrue(contest.gain("weft", "mpich blocking").has_interval)

    def test_what_weft_run_says_of_late_links_is_known(self):
        with open(os.path.join(ROOT, "tools", "weft", "switch", "report.cpp"), encoding="utf-8") as file:
            said = " ".join(part.strip() for part in file.read().replace('"', " ").split("\n"))
        self.assertIn("the links were not as asked for", " ".join(said.split()))

    def test_the_report_reads_the_samples(self):
        runs, interruption = written([contest_of(6)])
        self.assertEqual(interruption, "")
        experiment, = experiments(runs, interruption)
        contest, = experiment.contests
        self.assertEqual(contest.baseline.name, "weft blocking")
        self.assertEqual(contest.again.name, "weft again")
        weft = next(member for member in contest.members if member.name == "weft")
        self.assertAlmostEqual(contest.ratio(weft).value, 0.64)
        self.assertAlmostEqual(weft.estimate("wait").value, 0.4e6)
        self.assertIn("500 us delay", experiment.conditions())

    def test_a_contest_without_time_is_missing(self):
        runs, _ = written([contest_of(1), contest_of(0, size="55-65 %")])
        self.assertEqual({line["why"] for line in runs[0].missing}, {"there was no time left for 1gbit+0.5ms"})

    def test_an_unfinished_run_says_so(self):
        _, interruption = written([contest_of(1)], is_complete=False)
        self.assertIn("interrupted", interruption)


class Places(unittest.TestCase):
    def test_a_figure_has_members_problems_and_places(self):
        figure = {"app": "cg", "question": "which algorithm?", "size": "40-50", "arguments": "--x 4", "mpis": True,
                  "places": [{"ranks": 8, "nodes": 4, "link": "10gbit"}, {}],
                  "problems": [{"name": "small", "arguments": "--z 2"}, {"name": "large", "arguments": "--z 9"}], "members": [
                      {"name": "flat blocking", "backend": "weft-blocking", "settings": "WEFT_ALGORITHM=alltoallv=flat"},
                      {"name": "flat", "settings": "WEFT_ALGORITHM=alltoallv=flat WEFT_ENGINE=manual", "arguments": "--tests 3"}]}
        files = {"sizes.json": {"cg": {"40-50": "--y 8"}}, "figures.json": {"sci-fig4-cg": figure}}
        links = apps.links_from("1gbit")
        with mock.patch.object(apps, "read_json", files.get):
            self.assertEqual(len(apps.contests_of("quick", ["cg"], ["mpich"], True, links)), 1)
            all_contests = apps.contests_of("all", ["cg"], ["mpich"], True, links)
        of_figure = [contest for contest in all_contests if contest.scenario == "sci-fig4-cg"]
        self.assertEqual([(contest.size, contest.place.text()) for contest in of_figure],
                         [("small", "10gbit, 8 ranks on 4 nodes"), ("large", "10gbit, 8 ranks on 4 nodes"),
                          ("small", "1gbit"), ("large", "1gbit")])
        first = of_figure[0]
        self.assertEqual([member.name for member in first.members], ["flat blocking", "flat", "mpich blocking", "mpich"])
        line = apps.Cluster("/build").words(first.place, first.members[1], "cg", first.arguments["flat"])
        self.assertEqual(" ".join(line), "env WEFT_ALGORITHM=alltoallv=flat WEFT_ENGINE=manual /build/weft run -n 8 --nodes 4 "
                         "--rate 10gbit --bind core /build/apps/cg --backend weft --y 8 --x 4 --z 2 --tests 3")
        line = apps.Cluster("/build").words(first.place, first.members[3], "cg", [])
        self.assertIn("-ppn 2 -n 8 /build/apps/cg --backend mpi --mpi /build/apps/mpi-mpich.so", line[-1])

    def test_what_has_a_goal_comes_first_and_four_ranks_last(self):
        files = {"sizes.json": {"cg": {"20-30": "", "40-50": "", "55-65": ""}, "fft": {"40-50": ""}}}
        with mock.patch.object(apps, "read_json", lambda name: files.get(name, {})):
            found = apps.contests_of("all", ["cg", "fft"], ["mpich"], True, apps.links_from("1gbit,500mbit+0.5ms"))
            some = apps.contests_of("all", ["cg", "fft"], ["mpich"], True, apps.links_from("1gbit"), ["ranks", "goals"])
        self.assertEqual([contest.place.ranks for contest in some], [2, 2, 2, 4, 4])
        self.assertEqual([(contest.app, contest.size[:2], contest.place.text()) for contest in found], [
            ("cg", "40", "1gbit"), ("cg", "55", "1gbit"), ("fft", "40", "1gbit"),
            ("cg", "40", "500mbit+0.5ms"), ("cg", "55", "500mbit+0.5ms"), ("fft", "40", "500mbit+0.5ms"),
            ("cg", "20", "1gbit"), ("cg", "20", "500mbit+0.5ms"), ("cg", "40", "1gbit, 4 ranks"), ("fft", "40", "1gbit, 4 ranks")])

    def test_links_have_small_buckets(self):
        slow, distant, fast = apps.links_from("1gbit,500mbit+0.5ms,10gbit")
        self.assertEqual(" ".join(slow.arguments()), "--rate 1gbit --burst 73728")
        self.assertEqual(" ".join(distant.arguments()), "--rate 500mbit --delay 0.5ms --burst 73728")
        self.assertEqual(" ".join(fast.arguments()), "--rate 10gbit")
        for text in ("fast", "1gbit+soon"):
            with self.assertRaises(argparse.ArgumentTypeError):
                apps.links_from(text)

    def test_options_have_defaults_for_each_way(self):
        quick = apps.parse(["build", "samples", "quick"])
        self.assertEqual((quick.runs, quick.minutes, [link.text for link in quick.links]), (3, 14, ["1gbit"]))
        every = apps.parse(["build", "samples", "all", "--minutes", "45"])
        self.assertEqual((every.runs, every.minutes, [link.text for link in every.links]), (10, 45, ["1gbit", "500mbit+0.5ms"]))
        self.assertEqual(apps.parse(["build", "samples", "quick", "--calibrate"]).minutes, 5)
        self.assertEqual(apps.parse(["build", "samples", "all", "--only", "goals,ranks"]).only, ["goals", "ranks"])
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            apps.parse(["build", "samples", "all", "--only", "gaols"])


class Clock:
    """Contests take time on it as they run."""

    def __init__(self):
        self.now_s = 0

    def contest(self, seconds):
        return argparse.Namespace(seconds=seconds, runs=0, cost_s=0)

    def run(self, contest):
        self.now_s += contest.seconds
        contest.runs += 1
        contest.cost_s = contest.seconds

    def turns(self, budget_s, seconds, least=6, most=10, search_s=0):
        contests = [self.contest(one) for one in seconds]

        def begin(_):
            self.now_s += search_s

        is_complete = apps.Turns(budget_s, least, most, lambda: self.now_s).take(contests, begin, self.run, ahead_s=lambda _: search_s)
        return [contest.runs for contest in contests], is_complete


class Turns(unittest.TestCase):
    def test_with_time_all_get_the_most(self):
        self.assertEqual(Clock().turns(1000, [1, 2, 3]), ([10, 10, 10], True))

    def test_each_gets_its_least_before_one_gets_more(self):
        runs, is_complete = Clock().turns(6 * 10 + 7, [2.5] * 4)
        self.assertTrue(is_complete)
        self.assertEqual(runs, [7, 7, 6, 6])

    def test_what_does_not_fit_is_not_begun(self):
        runs, is_complete = Clock().turns(60, [5, 5, 5])
        self.assertEqual(runs, [6, 6, 0])
        self.assertFalse(is_complete)

    def test_searches_take_from_the_budget(self):
        clock = Clock()
        runs, _ = clock.turns(100, [5, 5, 5, 5], search_s=10)
        self.assertEqual(runs, [8, 8, 0, 0])
        self.assertLessEqual(clock.now_s, 100)
        runs, _ = Clock().turns(100, [5, 5], search_s=30)
        self.assertEqual(runs, [10, 0], "a second search would leave too little for both")

    def test_the_budget_is_kept_where_later_runs_take_longer(self):
        clock = Clock()
        contest = clock.contest(5)

        def run(one):
            clock.run(one)
            one.seconds = 30

        apps.Turns(60, 6, 10, lambda: clock.now_s).take([contest], lambda _: None, run)
        self.assertEqual(contest.runs, 3)
        self.assertLessEqual(clock.now_s, 66)

    def test_those_that_are_last_get_more_when_the_others_have_the_most(self):
        clock = Clock()
        contests = [clock.contest(1) for _ in range(3)]
        apps.Turns(25, 6, 10, lambda: clock.now_s).take(contests, lambda _: None, clock.run, is_last=lambda one: one is contests[0])
        self.assertEqual([contest.runs for contest in contests], [6, 10, 9])

    def test_few_runs_need_no_least(self):
        self.assertEqual(Clock().turns(1000, [1, 2], most=3), ([3, 3], True))


class Calibration(unittest.TestCase):
    LADDER = {"--x %d" % at: share for at, share in enumerate((0.8, 0.61, 0.5, 0.43, 0.35, 0.24, 0.1))}

    def test_each_band_gets_the_size_next_to_its_middle(self):
        self.assertEqual(apps.proposed(self.LADDER),
                         {"20-30": ("--x 5", True), "40-50": ("--x 3", True), "55-65": ("--x 1", True)})

    def test_a_band_that_no_size_has_gets_the_next_one_left(self):
        self.assertEqual(apps.proposed({"a": 0.8, "b": 0.7, "c": 0.75}),
                         {"20-30": ("b", False), "40-50": ("c", False), "55-65": ("a", False)})

    def test_it_prints_what_to_put_into_the_sizes(self):
        cluster = FakeCluster(shares=self.LADDER)
        files = {"ladders.json": {"cg": list(self.LADDER)}, "sizes.json": {"cg": {"40-50": "old"}, "fft": {"40-50": "kept"}}}
        with mock.patch.object(apps, "read_json", files.get):
            status, out = printed(apps.calibrate, cluster, ["cg"], apps.Link("1gbit"), 5)
        self.assertEqual(status, 0, out)
        self.assertEqual(json.loads(out.partition("apps/sizes.json:\n")[2]),
                         {"cg": {"20-30": "--x 5", "40-50": "--x 3", "55-65": "--x 1"}, "fft": {"40-50": "kept"}})
        self.assertEqual({name for name, _ in cluster.jobs}, {"weft blocking"})

    def test_a_step_that_fails_is_named(self):
        files = {"ladders.json": {"cg": ["--x 0"]}, "sizes.json": {"cg": {"40-50": "old"}}}
        with mock.patch.object(apps, "read_json", files.get):
            status, out = printed(apps.calibrate, FakeCluster(failing=["weft blocking"]), ["cg"], apps.Link("1gbit"), 5)
        self.assertEqual(status, 1)
        self.assertIn("cg --x 0: status 1: cg: rank 1: the true residual is 1", out)

    def test_the_switch_carries_what_leaves_most_of_its_core(self):
        cluster = FakeCluster()
        self.assertEqual(apps.carried_rate(cluster, "fft", []), ("500mbit", 0.9))
        cluster.said = cluster.said.replace("0.90 s per GB", "0.75 s per GB")
        self.assertEqual(apps.carried_rate(cluster, "fft", [])[0], "1gbit")
        cluster.said = cluster.said.replace("0.75 s per GB", "19 s per GB")
        self.assertEqual(apps.carried_rate(cluster, "fft", [])[0], "100mbit")


class Profiles(unittest.TestCase):
    def profiled(self):
        cluster = FakeCluster()
        contest = apps.profiled(contest_of(3))
        for _ in range(3):
            contest.run(cluster, random.Random(1))
        return contest

    def test_the_best_blocking_program_and_the_fastest_of_others_are_profiled(self):
        contest = self.profiled()
        self.assertEqual([member.name for member in contest.members], ["weft", "mpich blocking", "mpich"])
        self.assertEqual(contest.arguments["mpich"], "--x 8 --tests 16 --profile".split())
        self.assertIsNone(contest.goal())

    def test_what_could_be_hidden(self):
        phases = [[phase("inner", True, 5.0, 0.4), phase("outer", False, 1.0, 0.0)]] * 3
        # 8 s, of which 3 s are communication: the computation takes 5 s; with 1 s aside and 5 s behind it 6 s.
        whole, here = profile.bounds((8e6, 5e6), phases)
        self.assertAlmostEqual(whole, 8 / 5)
        self.assertAlmostEqual(here, 8 / 6)
        whole, here = profile.bounds((8e6, 2e6), phases)  # 6 s of communication take longer than what hides them
        self.assertAlmostEqual(whole, 8 / 6)
        self.assertAlmostEqual(here, 8 / 7)

    def test_a_row_is_of_a_phase_and_rank(self):
        phases = [[phase("inner", True, seconds, 0.4)] for seconds in (5.0, 9.0, 6.0)]
        self.assertEqual(profile.rows(phases), [["inner", "yes", "0", "6 s", "0 ns", "0 ns", "400 ms"],
                                               ["", "", "1", "6 s", "0 ns", "0 ns", "400 ms"]])
        self.assertEqual(profile.rows([]), [])

    def test_it_is_printed(self):
        _, out = printed(apps.print_profile, self.profiled())
        self.assertIn("phase  hides  rank  computation", out)
        self.assertRegex(out, r"cg +40-50 % +weft +inner +yes +0 +5 s +0 ns +0 ns +400 ms")
        self.assertIn("of 8 s in mpich blocking, 3 s is communication; if all of the shorter one of that and computation were hidden: "
                      "1.60 times as fast; if all phases that hide something hid as much as they take: 1.33; weft: 1.25", out)

    @needs_matplotlib
    def test_the_page_has_it(self):
        from report import page
        runs, interruption = written([contest_of(3), self.profiled()])
        text = page.page(experiments(runs, interruption))
        self.assertEqual(text.count("<summary>Where the time goes</summary>"), 1)
        self.assertIn("<td>weft</td><td>inner</td><td>yes</td><td>0</td><td>5 s</td>", text)
        self.assertIn("if all phases that hide something hid as much as they take: 1.33; weft: 1.25.", text)


if __name__ == "__main__":
    unittest.main()
