"""Judging the ledger of papers by samples (tools/docs): small files of samples, whose verdicts are known."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
import unittest.mock

from support import END, cell, head, sample, text_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tools", "docs"))
import measure  # noqa: E402
import papers  # noqa: E402
from report import conditions, judge  # noqa: E402

COLUMNS = ["blocking", "work", "start", "tests", "wait", "total", "cpu"]
SCENARIO = {"name": "s", "question": "?", "says": "time"}
RULE = {"scenario": "s", "metric": "total", "of": "auto", "to": "thread", "cells": "all", "at_most": 0.9, "interval": "median"}


def times(total, blocking=100.0, work=100.0, start=5.0, tests=10.0, wait=20.0, cpu=50.0):
    return [blocking, work, start, tests, wait, total, cpu]


def lines_of(contests, repetitions=9, **of_cells):
    """Contests: of each, its axes, and a time or function for each member: from the repetition to the columns' values."""
    lines, number = [head(**SCENARIO)], 0
    for at, (axes, members) in enumerate(contests):
        for name, value in members.items():
            lines.append(cell(number, name, scenario="s", contest=at, columns=COLUMNS, engine=name.split(" ")[0], **dict(of_cells, **axes)))
            for repetition in range(repetitions):
                found = value(repetition) if callable(value) else times(value)
                lines.append(sample(number, repetition, *found))
            number += 1
    return lines + [END]


def aa(**members):
    """Members, and auto measured twice."""
    return dict(members, **{"auto again": members["auto"]})


class Judging(unittest.TestCase):
    def judged(self, rule, lines):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "samples")
            with open(path, "w") as file:
                file.write(text_of(lines))
            rule = {name: value for name, value in dict(RULE, **rule).items() if value is not None}
            ledger = [{"items": [{"id": "p-1", "rule": rule}]}]
            found = list(judge.judge_all(ledger, [path]))
        return found[0][1] if found else None

    def verdict(self, rule, lines):
        return self.judged(rule, lines).verdict

    def test_confirmed_with_the_figures(self):
        one = self.judged({}, lines_of([({}, aa(auto=80.0, thread=100.0))]))
        self.assertEqual(one.verdict, "confirmed")
        self.assertEqual(one.why, "total of auto / total of thread, the worst cell: 0.8 (0.8 to 0.8) (ibcast, 1 MiB); at most 0.9 asked")
        self.assertEqual((one.date, one.machine), ("2026-11-27", "2 cores, a CPU, Linux 6.1"))

    def test_one_cell_outside_is_not_confirmed_in_every_cell_but_in_some(self):
        lines = lines_of([({"bytes": 1024}, aa(auto=80.0, thread=100.0)), ({"bytes": 2048}, aa(auto=95.0, thread=100.0))])
        one = self.judged({}, lines)
        self.assertEqual(one.verdict, "not confirmed")
        self.assertIn("the worst cell: 0.95 (0.95 to 0.95) (ibcast, 2 KiB); at most 0.9 asked; 1 of 2 cells hold", one.why)
        self.assertEqual(self.verdict({"cells": "any"}, lines), "confirmed")
        self.assertEqual(self.verdict({"cells": "mean"}, lines), "confirmed")  # 0.875
        self.assertEqual(self.verdict({"cells": "median", "at_most": 0.85}, lines), "not confirmed")
        self.assertEqual(self.verdict({"over": ["bytes<=1K"]}, lines), "confirmed")

    def test_cannot_be_seen_where_the_same_measured_twice_differs_as_much(self):
        lines = lines_of([({}, {"auto": 80.0, "thread": 100.0, "auto again": lambda at: times(80.0 + 3 * (at - 4))})])
        one = self.judged({}, lines)  # A/A 0.89 to 1.11, the effect 0.1
        self.assertEqual(one.verdict, "cannot be seen here")
        self.assertIn("1 of 1 cells do not count: the bound is within their interval, widened by chance (A/A)", one.why)
        self.assertEqual(self.verdict({"at_most": 0.7}, lines), "not confirmed")  # an effect of 0.3 can be seen
        self.assertEqual(self.verdict({"at_most": 1.0}, lines), "confirmed")  # chance moves the bound down to 0.89
        little = lines_of([({}, {"auto": 80.0, "thread": 100.0, "auto again": lambda at: times(80.0 + 0.5 * (at - 4))})])
        self.assertEqual(self.verdict({"at_most": 1.0}, little), "confirmed")
        self.assertEqual(self.verdict({"to": "auto again", "at_least": 0.1, "at_most": 9}, lines), "confirmed")

    def test_cannot_be_seen_without_intervals_or_without_the_same_measured_twice(self):
        few = lines_of([({}, aa(auto=80.0, thread=100.0))], repetitions=5)
        self.assertEqual(self.verdict({}, few), "cannot be seen here")
        self.assertEqual(self.verdict({}, lines_of([({}, {"auto": 80.0, "thread": 100.0})])), "cannot be seen here")

    def test_cannot_be_seen_if_most_cells_are_not_clear(self):
        unclear = ({"bytes": 1}, {"auto": 80.0, "thread": 100.0})
        clear = ({"bytes": 2}, aa(auto=80.0, thread=100.0))
        self.assertEqual(self.verdict({}, lines_of([unclear, clear])), "confirmed")
        self.assertEqual(self.verdict({}, lines_of([unclear, unclear, clear])), "cannot be seen here")

    def test_missing_says_why(self):
        lines = lines_of([({}, aa(auto=80.0))])
        lines.insert(1, {"kind": "missing", "scenario": "s", "member": "thread", "why": "no threads here"})
        lines.insert(1, {"kind": "missing", "scenario": "s", "member": "kernel", "why": "no io_uring"})
        one = self.judged({}, lines)
        self.assertEqual((one.verdict, one.why), ("cannot be seen here", "all its cells are missing; thread: no threads here"))
        self.assertIsNone(self.judged({"scenario": "other"}, lines))

    def test_what_counts_does_not_reach_the_bound(self):
        lines = lines_of([({}, {"auto": lambda at: times(80.0 + 3 * (at - 4)), "thread": 100.0, "thread again": 100.0})])
        self.assertEqual(self.verdict({"at_most": 0.88}, lines), "cannot be seen here")  # to 0.89
        self.assertEqual(self.verdict({"at_most": 0.8}, lines), "cannot be seen here")
        self.assertEqual(self.verdict({"at_most": 0.9}, lines), "confirmed")
        self.assertEqual(self.verdict({"at_most": 0.7}, lines), "not confirmed")

    def test_better_than_asked(self):
        rule = {"at_least": 0.9, "at_most": 1.1}
        self.assertEqual(self.verdict(rule, lines_of([({}, aa(auto=50.0, thread=100.0))])), "better than asked")
        self.assertEqual(self.verdict(rule, lines_of([({}, aa(auto=150.0, thread=100.0))])), "not confirmed")

    def test_what_could_not_have_passed_is_not_refuted(self):
        one = self.judged({"at_most": 0.5, "unreachable": "at best 0.7"}, lines_of([({}, aa(auto=80.0, thread=100.0))]))
        self.assertEqual(one.verdict, "cannot be seen here")
        self.assertIn("at best 0.7", one.why)

    def test_metrics(self):
        members = aa(auto=lambda at: times(140.0), thread=lambda at: times(200.0, start=10.0))
        for metric, low, high in (("hidden", 59.9, 60.1), ("overhead", 34.9, 35.1), ("cpu_share", 35.7, 35.8),
                                  ("idle_share", 64.2, 64.3), ("idle", 89.9, 90.1), ("cpu_outside", -35.8, -35.7),
                                  ("tests", 9.9, 10.1), ("wait", 19.9, 20.1), ("ratio", 139.9, 140.1)):
            rule = {"metric": metric, "at_least": low, "at_most": high, "to": None}
            with self.subTest(metric):
                self.assertEqual(self.verdict(rule, lines_of([({}, members)])), "confirmed")
        quotient = {"metric": "overhead", "to_metric": "start", "at_least": 3.49, "at_most": 3.51}
        self.assertEqual(self.verdict(quotient, lines_of([({}, members)])), "confirmed")
        self.assertEqual(self.verdict({"metric": "hidden", "at_least": 59, "at_most": 61}, lines_of([({}, members)])),
                         "confirmed")  # in points, for thread hides nothing

    def test_an_impossible_hidden_share_does_not_count(self):
        rule = {"metric": "hidden", "at_least": 50, "at_most": None, "to": None}
        self.assertEqual(self.verdict(rule, lines_of([({}, aa(auto=95.0))])), "confirmed")  # 105 %
        self.assertEqual(self.verdict(rule, lines_of([({}, aa(auto=85.0))])), "cannot be seen here")  # 115 %

    def test_a_share_of_a_member_s_own_time_is_a_value(self):
        def few_tests(at):
            return times(200.0, tests=1.0 + at % 3)  # 0.5 to 1.5 % of the time; A/A of tests is 0.3 to 3
        rule = {"metric": "tests", "to": "auto", "to_metric": "total", "at_most": 0.05}
        lines = lines_of([({}, {"auto": few_tests, "auto again": lambda at: few_tests(at + 1)})])
        self.assertEqual(self.verdict(rule, lines), "confirmed")
        self.assertEqual(self.verdict(dict(rule, at_most=0.005), lines), "cannot be seen here")

    def test_overhead_is_of_one_rank(self):
        lines = [head(**SCENARIO)]
        for number, name in enumerate(("auto", "thread", "auto again")):
            lines.append(cell(number, name, scenario="s", columns=COLUMNS, ranks=2, engine=name.split(" ")[0]))
            for at in range(9):
                both = [times(100.0, start=30.0, wait=0.0), times(100.0, start=0.0, wait=40.0)]
                lines.append({"kind": "sample", "cell": number, "repetition": at, "ranks": both})
        rule = {"metric": "overhead", "at_least": 50, "at_most": 50, "to": None}
        self.assertEqual(self.verdict(rule, lines), "confirmed")

    def test_quotients_of_two_cells_have_the_other_axes_in_common(self):
        lines = lines_of([({"bytes": size, "ranks": 1, "algorithm": name}, aa(auto=time, thread=time))
                          for size, name, time in ((1024, "a=x", 50.0), (1024, "a=y", 100.0),
                                                   (65536, "a=x", 300.0), (65536, "a=y", 400.0))])
        rule = {"to": "auto", "of_where": ["algorithm=a=x"], "to_where": ["algorithm=a=y"], "at_most": 0.76}
        one = self.judged(rule, lines)
        self.assertEqual(one.verdict, "confirmed")
        self.assertIn("the worst cell: 0.75", one.why)
        self.assertIn("2 of 2 cells hold", one.why)

    def test_a_time_less_that_of_another_member(self):
        def first(more):
            return lambda at: times(100.0, start=5.0 + more)
        lines = lines_of([({"bytes": size}, {"cached": 100.0, "first": first(more), "first again": first(more)})
                          for size, more in ((8, 10.0), (64, 11.0))])
        rule = {"metric": "start", "of": "first", "less": "cached", "of_where": ["bytes=64"], "to": "first",
                "to_where": ["bytes=8"], "at_least": 1.09, "at_most": 1.11}
        one = self.judged(rule, lines)
        self.assertEqual(one.verdict, "confirmed", one.why)
        self.assertIn("start of first, less that of cached, / start of first", one.why)
        self.assertEqual(self.verdict(dict(rule, less=None), lines), "not confirmed")

    def test_jobs_took_no_turns(self):
        lines = lines_of([({}, aa(auto=lambda at: times(100.0 * (1 + at % 3)), thread=lambda at: times(100.0 * (1 + (at + 2) % 3))))])
        rule = {"at_least": 0.99, "at_most": 1.01}
        self.assertIn("the worst cell: 1.5", self.judged(rule, lines).why)  # by repetition 1/3, 2 and 1.5
        for line in lines:
            if line.get("member") == "thread":
                line["settings"] = {"WEFT_RENDEZVOUS": "4K"}
        self.assertIn("the worst cell: 1 (", self.judged(rule, lines).why)  # of the medians

    def test_numbers_of_messages(self):
        lines = lines_of([({}, aa(auto=100.0))])
        for line in lines:
            if line["kind"] == "cell":
                line["columns"] = COLUMNS + ["unexpected"]
            if line["kind"] == "sample":
                line["ranks"][0].append(3)
        rule = {"metric": "unexpected", "to": None, "at_most": None, "at_least": 1}
        one = self.judged(rule, lines)
        self.assertEqual(one.verdict, "confirmed")
        self.assertIn("the worst cell: 3 (3 to 3)", one.why)
        self.assertEqual(self.verdict(dict(rule, at_most=0, at_least=None), lines), "not confirmed")

    def test_mpis_of_one_contest_are_not_mixed(self):
        lines = lines_of([({}, {"mpich": 60.0, "mpich blocking": 100.0, "openmpi": 80.0, "openmpi blocking": 70.0, "mpich again": 60.0})])
        one = self.judged({"of": "mpi", "to": "mpi blocking"}, lines)
        self.assertEqual(sorted(round(finding.found.value, 2) for finding in one.findings), [0.6, 1.14])

    def test_each_mpi_has_cells_of_its_own(self):
        first = lines_of([({}, dict(aa(auto=80.0), **{"mpich": 100.0, "mpich blocking": 90.0}))])
        second = lines_of([({}, dict(aa(auto=80.0), **{"openmpi": 70.0, "openmpi blocking": 200.0}))])
        first[0]["mpi"], second[0]["mpi"] = "MPICH 5.0.2", "Open MPI 5.0.10"
        one = self.judged({"to": "mpi"}, first[:-1] + second)
        self.assertEqual(one.verdict, "not confirmed")
        self.assertRegex(one.why, r"1\.14 \(1\.14 to 1\.14\) \(.*Open MPI.*\); at most 0\.9 asked; 1 of 2 cells hold")
        self.assertEqual(self.verdict({"to": "mpi blocking"}, first[:-1] + second), "confirmed")

    def test_conditions(self):
        one = cell(0, "auto", bytes=65536, nodes=2, link={"rate": "1gbit", "delay_us": 500.0},
                   late={"who": [1], "by": "600us"})
        for condition in ("bytes>=64K", "bytes=65536", "nodes>=2", "rate=1gbit", "rate>=100mbit", "delay=0.5ms", "late>=600us", "late=0.6ms",
                          "collective=ibcast", "algorithm=", "timer=clock", "barrier=ours"):
            if condition != "algorithm=":
                self.assertTrue(conditions.is_one(condition), condition)
                self.assertTrue(conditions.meets(one, condition), condition)
        for condition in ("bytes>=65K", "ranks=2", "rate=10gbit", "delay=0", "late=0", "collective=ireduce", "timer=cycles"):
            self.assertFalse(conditions.meets(one, condition), condition)
        self.assertTrue(conditions.meets(one, "late>=1x", operation_us=500))
        self.assertFalse(conditions.meets(one, "late>=2x", operation_us=500))
        for text in ("bytes>>1", "bytes>=much", "late>=1y", "collective>=ibcast", "colour=1"):
            self.assertFalse(conditions.is_one(text), text)


class Writing(unittest.TestCase):
    def test_verdicts_go_into_the_ledger(self):
        not_run = {"verdict": {"verdict": "not run"}}
        items = [dict(not_run, id="p-1", rule=RULE), dict(not_run, id="p-2", rule=dict(RULE, scenario="other")),
                 dict(not_run, id="p-3", rule={"scenario": "s", "metric": "slope", "of": "all", "at_least": 1, "in_words": True})]
        with tempfile.TemporaryDirectory() as folder:
            ledger, samples = os.path.join(folder, "p.json"), os.path.join(folder, "samples")
            with open(ledger, "w") as file:
                json.dump({"key": "p", "items": items}, file)
            with open(samples, "w") as file:
                file.write(text_of(lines_of([({}, aa(auto=80.0, thread=100.0))])))
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.assertEqual(papers.judge_samples([samples], folder, is_to_write=False), 0)
            with open(ledger) as file:
                self.assertEqual(json.load(file)["items"], items)
            with contextlib.redirect_stdout(out):
                self.assertEqual(papers.judge_samples([samples], folder, is_to_write=True), 0)
            with open(ledger) as file:
                written = json.load(file)["items"]
        self.assertEqual(written[0]["verdict"]["verdict"], "confirmed")
        self.assertEqual(set(written[0]["verdict"]), {"verdict", "why", "date", "machine"})
        self.assertEqual(written[1:], items[1:])
        # A cause belongs to the verdict that it explains.
        for verdict, kept in (("confirmed", True), ("not confirmed", False)):
            items[0]["verdict"] = {"verdict": verdict, "cause": "known"}
            with tempfile.TemporaryDirectory() as folder:
                ledger, samples = os.path.join(folder, "p.json"), os.path.join(folder, "samples")
                with open(ledger, "w") as file:
                    json.dump({"key": "p", "items": items}, file)
                with open(samples, "w") as file:
                    file.write(text_of(lines_of([({}, aa(auto=80.0, thread=100.0))])))
                with contextlib.redirect_stdout(io.StringIO()):
                    papers.judge_samples([samples], folder, is_to_write=True)
                with open(ledger) as file:
                    self.assertEqual("cause" in json.load(file)["items"][0]["verdict"], kept)
        self.assertRegex(out.getvalue(), r"p-1 +confirmed +total of auto")
        self.assertRegex(out.getvalue(), r"p-3 +for a reader +scenario `s`: slope")
        self.assertIn("1 confirmed, 0 better than asked, 0 not confirmed, 0 cannot be seen here, 1 for a reader\n", out.getvalue())


# In the program's place: one job; writes samples, or fails.
PROGRAM = """#!/bin/sh
echo "$@" >> '%(folder)s/calls'
case "$*" in
*--plan) echo '{'; echo '  "launcher": ""'; echo '}'; exit 0;;
"simulate "*json) echo '{"times": [{"layout": "in_order", "k": 1, "bytes": 64, "a_us": 3.0, "b_us": 1.0}]}'; exit 0;;
"simulate "*) echo 'end   2000 ns'; echo 'CPU busy   500 ns'; echo 'overlap   80 %%'; exit 0;;
*two*) exit 3;;
esac
for last; do :; done
cp '%(folder)s/samples' "$last"
"""


class Measuring(unittest.TestCase):
    def test_all_scenarios_and_what_is_missing_go_to_one_file(self):
        with tempfile.TemporaryDirectory() as folder:
            program, path = os.path.join(folder, "weft"), os.path.join(folder, "out")
            with open(program, "w") as file:
                file.write(PROGRAM % {"folder": folder})
            os.chmod(program, 0o700)
            names = list(measure.names_of("case"))
            one, two = names[0], "two"
            lines = lines_of([({}, aa(auto=80.0, thread=100.0))])
            lines[0]["scenarios"] = {one: {"name": one, "question": "?"}}
            for line in lines[1:]:
                if "scenario" in line:
                    line["scenario"] = one
            with open(os.path.join(folder, "samples"), "w") as file:
                file.write(text_of([lines[0], dict(lines[0], mpi="MPICH 5.0.2")] + lines[1:]))
            of_one = {"scenario": one, "collective": "ibcast", "ranks": [8], "nodes": 2, "bytes": ["64K"], "member": "chain"}
            ledger = [{"key": "case", "name": "Case", "simulated": [
                dict(of_one, command="weft simulate bcast -n {ranks} --bytes {bytes}", metric="idle", **{"as": "idle_us"}),
                dict(of_one, command="weft simulate bcast -n {ranks} --bytes {bytes}", metric="overlap", bytes_a_look=2048,
                     **{"as": "hidden"}),
                {"scenario": one, "command": "weft simulate experiment x", "table": "times", "where": {"k": 1}, "metric": "a_us",
                 "less": "b_us", "as": "overhead_us", "member": "{layout}, k = {k}", "collective": "ibcast", "of_ranks": 16},
                dict(of_one, scenario="case-none", command="weft none", metric="idle", **{"as": "idle_us"})], "items": [
                {"id": "case-fig1", "kind": "figure", "where": "1", "says": "It idles. Asked: x.", "command": "weft none",
                 "rule": {"scenario": one, "of": "auto", "to": "thread"}},
                {"id": "case-fig99", "kind": "figure", "where": "2", "says": "y", "ruled_out": "no such hardware"}]}]
            found = measure.Lines(path, measure.notes_of(ledger, [one, two]))
            rules = [{"id": name, "kind": "finding", "says": "", "where": "", "rule": {"scenario": two, "of": of, "to": to}}
                     for name, of, to in (("x", "a", "b"), ("y", "a", "a"), (two, "c", "d"))]
            compares = measure.notes_of([{"items": rules}], [two])[two][1]
            with contextlib.redirect_stdout(io.StringIO()) as out:
                with unittest.mock.patch.object(measure, "scenario_called", lambda name: {"name": name}):
                    self.assertFalse(measure.measure(program, {one: 30.0, two: 10.0}, 1.0, found, ["--seed", "3"]))
                measure.simulate(program, ledger, found)
                measure.name_missing_figures(ledger, [one, two], ["case"], found)
            with open(path) as file:
                written = [json.loads(line) for line in file]
            with open(os.path.join(folder, "calls")) as file:
                calls = file.read().splitlines()
        # The first has three quarters of the minute, without what setting up a job takes.
        self.assertEqual(calls[0], "bench %s --seed 3 --plan" % one)
        self.assertRegex(calls[1], r"^bench %s --seed 3 --set budget=43\.\ds --json " % one)
        self.assertEqual(sum(line["kind"] == "sample" for line in written), 27)
        # Of two "run" lines the first has nothing of its own.
        self.assertEqual([line.get("mpi") for line in written if line["kind"] == "run" and one in line["scenarios"]], ["MPICH 5.0.2"])
        self.assertEqual(written[0]["scenarios"][one]["question"], one + ": ?")
        missing = {line["scenario"]: line["why"] for line in written if line["kind"] == "missing"}
        self.assertEqual(missing, {"two": "weft bench ended with status 3", "case-fig99": "no such hardware"})
        simulated = [line for line in written if line["kind"] == "simulated"]
        common = {"kind": "simulated", "scenario": one, "collective": "ibcast", "ranks": 8, "nodes": 2, "bytes": 65536, "member": "chain"}
        command = "weft simulate bcast -n 8 --bytes 64K"
        self.assertEqual(simulated, [
            dict(common, metric="idle_us", value=1.5, command=command),
            dict(common, metric="hidden", value=80.0, command=command + " --compute 2000 --progress host:7:100"),
            dict(common, metric="overhead_us", value=2.0, command="weft simulate experiment x", ranks=16, nodes=0, bytes=64,
                 member="in order, k = 1")])
        self.assertEqual(written[0]["scenarios"][one]["notes"], ["It idles (1)."])
        # Members that a rule compares, not one with itself; first those of the figure's own rule.
        self.assertEqual(written[0]["scenarios"][one]["compares"], [["auto", "thread"]])
        self.assertEqual(compares, [["c", "d"], ["a", "b"]])
        self.assertIn("took", out.getvalue())

    def test_claims_of_a_paper_are_told_with_their_verdicts(self):
        def item(name, kind, says, scenario, **verdict):
            return {"id": name, "kind": kind, "says": says, "where": "4", "rule": {"scenario": scenario} if scenario else {},
                    "command": "weft bench s.json" if scenario else "weft simulate x", "verdict": verdict}
        unseen = "total, the worst cell: 1.1; 0 of 1 cells hold; 3 of 4 cells do not count, as chance (A/A) there is as large as the effect"
        ledger = [{"items": [
            item("case-fig1", "figure", "It idles. Asked: x.", "case-fig1", verdict="confirmed"),
            item("core-direct-fig1a", "figure", "Faster.", None, verdict="not confirmed"),
            item("case-x", "method", "A method.", "case-1-skew", verdict="confirmed"),
            item("case-y", "finding", "Ranks wait.", "case-1-skew", verdict="not confirmed", cause="it spins (e.g. 9 of 10). More."),
            item("case-z", "finding", "The same of all.", "case-1-skew", verdict="cannot be seen here", why=unseen),
            item("libnbc-fig5-left", "figure", "One test.", "libnbc-fig5-left", verdict="cannot be seen here",
                 why="all its cells are missing; x"),
            item("libnbc-fig6-left", "figure", "A gather.", "libnbc-fig6", verdict="confirmed"),
            item("libnbc-fig6-right", "figure", "The same by cable.", "libnbc-fig6", verdict="not run")]}]
        names = ["case-fig1", "case-fig1-user", "core-direct-fig1-real", "case-1-skew", "libnbc-fig5-left", "libnbc-fig5-left-ranks",
                 "libnbc-fig6", "case-control"]
        notes = {name: said for name, (said, *_) in measure.notes_of(ledger, names, has_verdicts=True).items()}
        self.assertEqual(notes, {
            "case-fig1": ["It idles (4). Here: confirmed."],
            "case-fig1-user": ["It idles (4). Here: confirmed."],
            "core-direct-fig1-real": ["Faster (4). In the model: not confirmed."],
            "case-1-skew": ["Ranks wait (4). Here: not confirmed: it spins (e.g. 9 of 10).",
                            "The same of all (4). Here it cannot be seen: in 3 of 4 cells of its rule chance is as large as the "
                            "effect, or not known."],
            "libnbc-fig5-left": ["One test (4). Here it cannot be seen: no cell of its rule has a value."],
            "libnbc-fig5-left-ranks": ["One test (4). Here (by libnbc-fig5-left) it cannot be seen: no cell of its rule has a value."],
            "libnbc-fig6": ["A gather (4). Here: confirmed.", "The same by cable (4). Here: not run."]})
        before = measure.notes_of(ledger, names)
        self.assertEqual(before["case-fig1"][0], ["It idles (4)."])

    def test_samples_are_drawn_again_by_what_is_said_now(self):
        lines = lines_of([({}, aa(auto=80.0))])
        lines[0]["scenarios"] = {"case-fig2": {"name": "case-fig2", "question": "case-fig2: old?", "says": "cpu", "budget": "9s"}}
        for line in lines[1:]:
            if "scenario" in line:
                line["scenario"] = "case-fig2"
        old = {"kind": "simulated", "scenario": "case-fig2", "member": "m", "collective": "ibcast", "bytes": 8, "ranks": 2,
               "value": 1, "metric": "time_us", "command": "weft simulate old"}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "samples")
            with open(path, "w") as file:
                file.write(text_of(lines + [old]))
            measure.draw_again("none", [{"key": "case", "items": []}], path)
            with open(path) as file:
                written = [json.loads(line) for line in file]
        self.assertEqual(written[1:], lines[1:])
        now = papers.scenarios()["bench/scenarios/paper/case.json"]["case-fig2"]
        self.assertEqual(written[0]["scenarios"]["case-fig2"], {
            "name": "case-fig2", "question": "case-fig2: " + now["question"], "says": now["says"], "column": now["column"],
            "baseline": now["baseline"],
            "budget": "9s", "notes": []})

    def test_older_samples_keep_the_time_of_all_tests(self):
        name = "libnbc-fig5-left"
        for columns, column in ((["tests"], "tests"), (["tests", "test_calls"], "test")):
            lines = lines_of([({}, aa(auto=80.0))])
            lines[0]["scenarios"] = {name: {"name": name, "question": "old?", "says": "time", "column": "tests"}}
            lines[1].update(scenario=name, columns=columns)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "samples")
                with open(path, "w") as file:
                    file.write(text_of(lines))
                measure.draw_again("none", [{"key": "libnbc", "items": []}], path)
                with open(path) as file:
                    drawn = json.loads(file.readline())["scenarios"][name]
            self.assertEqual((drawn["column"], "one test" in drawn["question"]), (column, column == "test"))

    def test_only_scenarios_with_members_of_mpis_are_compared_with_them(self):
        options = ["--against", "mpich", "--seed", "3", "--against=impi"]
        with_mpi = {"members": [{"name": "auto"}, {"name": "other", "implementation": "mpi"}]}
        self.assertEqual(measure.options_for(with_mpi, options), options)
        self.assertEqual(measure.options_for({"members": [{"implementation": "hand"}]}, options), ["--seed", "3"])
        self.assertEqual(measure.options_for({}, options), ["--seed", "3"])

    def test_tables_that_members_name_are_made(self):
        alone, overlapped = measure.tables_of("weft", measure.scenario_called("sci-4.2-tuned"))
        self.assertEqual(alone, "weft tune -o build/report/alone.table --ranks 4 --nodes 2 --rate 1gbit --cores 0,1 --collective "
                         "iallgather,ialltoall,iallreduce --sizes 64K,256K,1M".split())
        self.assertEqual(overlapped[4:], alone[4:] + ["--overlapped", "--engine", "auto"])
        self.assertEqual(list(measure.tables_of("weft", measure.scenario_called("sci-fig3"))), [])

    def test_figures_of_the_ledger_find_their_scenarios(self):
        names = list(measure.names_of("all"))
        for item, scenario in (("core-direct-fig1a", "core-direct-fig1-real"), ("case-fig1-simulated", "case-fig1"),
                               ("sci-fig3-gather", "sci-fig3"), ("core-direct-6.C-small", None), ("ukacc-fig1", None)):
            self.assertEqual(measure.scenario_of({"id": item}, names), scenario)


if __name__ == "__main__":
    unittest.main()
