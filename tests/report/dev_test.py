"""`./dev bench` and `./dev report`: what they run, and what they say where nothing can be drawn."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import stat
import tempfile
import unittest
from unittest import mock

from support import SCHEMA_1

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# In the program's place: writes samples to its last argument.
PROGRAM = """#!/bin/sh
echo "$@" > '%s/arguments'
for last; do :; done
[ "$last" = --help ] || cp '%s' "$last"
exit 3
"""


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        loader = importlib.machinery.SourceFileLoader("dev", os.path.join(ROOT, "dev"))
        self.dev = importlib.util.module_from_spec(importlib.util.spec_from_loader("dev", loader))
        loader.exec_module(self.dev)
        self.out = self.dev.OUT = io.StringIO()
        self.dev.SAMPLES = os.path.join(self.folder, "report", "samples.jsonl")
        self.dev.LOGS = os.path.join(self.folder, "logs")
        self.dev.alone = lambda what: contextlib.nullcontext()
        program = os.path.join(self.folder, "weft")
        with open(program, "w") as file:
            file.write(PROGRAM % (self.folder, SCHEMA_1))
        os.chmod(program, stat.S_IRWXU)
        self.dev.build_program = lambda arguments, quiet: [program] + arguments

    def arguments(self):
        with open(os.path.join(self.folder, "arguments")) as file:
            return file.read().split()

    def without_matplotlib(self):
        self.dev.DRAWING = os.path.join(self.folder, "drawing")
        return mock.patch.object(self.dev.sys, "executable", "/bin/false")

    def test_bench_goes_on_without_matplotlib(self):
        with self.without_matplotlib():
            self.assertEqual(self.dev.bench(["--set", "nodes=2"]), 3)  # the program's status
        self.assertEqual(self.arguments(), ["bench", "--set", "nodes=2", "--json", self.dev.SAMPLES])
        self.assertIn("Without matplotlib no report can be drawn: /bin/false -m venv fails", self.out.getvalue())
        self.assertTrue(self.out.getvalue().endswith("The samples are in %s\n" % self.dev.SAMPLES))
        self.assertFalse(os.path.exists(self.dev.DRAWING))

    def test_bench_of_the_applications_is_against_all_mpis(self):
        against = ["--against", "mpich,openmpi,impi"]
        self.assertIsNone(self.dev.app_options(["overlap", "--json", "x"]))
        self.assertEqual(self.dev.app_options(["--apps"]), ("quick", against))
        self.assertEqual(self.dev.app_options(["--runs", "6", "--apps=all"]), ("all", ["--runs", "6"] + against))
        self.assertEqual(self.dev.app_options(["--apps", "--against=mpich"]), ("quick", ["--against=mpich"]))
        with self.assertRaises(SystemExit):
            self.dev.app_options(["--apps=some"])

    def test_bench_of_all_applications_judges_what_papers_say(self):
        samples = os.path.join(self.folder, "report", "apps.jsonl")
        calls = []

        def call(words):
            calls.append(words[2:])
            open(samples, "a").close()
            return len(calls) % 2

        self.dev.build = lambda *_, **__: []
        self.dev.report = lambda words: calls.append(words) or 0
        tools = os.path.join(ROOT, "tools")
        for what, judging in (("all", [[os.path.join(tools, "docs", "papers.py"), "--samples", samples]]), ("quick", [])):
            calls.clear()
            with mock.patch.object(self.dev.subprocess, "call", call):
                self.assertEqual(self.dev.bench_apps(what, ["--runs", "6"]), 1)  # measuring failed; the rest is done all the same
            self.assertEqual(calls, [[os.path.join(tools, "apps.py"), self.folder, samples, what, "--runs", "6"]] + judging +
                             [[samples, "-o", samples.replace(".jsonl", ".html")]])
        calls.clear()
        with mock.patch.object(self.dev.subprocess, "call", call):
            self.assertEqual(self.dev.bench_apps("quick", ["--calibrate"]), 1)
        self.assertEqual(len(calls), 1, "shares of communication are no samples to draw")

    def test_bench_of_the_applications_builds_these_alone(self):
        built, commands = [], []
        self.dev.build = lambda preset, targets=(), quiet=False: built.append((preset, list(targets)))
        with mock.patch.object(self.dev.subprocess, "call", lambda command, **_: commands.append(command) or 3):
            self.assertEqual(self.dev.bench_apps("quick", ["--runs", "1"]), 3)
        self.assertEqual(built, [("release", ["weft_applications"])])
        self.assertEqual(commands[0][2:], [os.path.join(ROOT, "tools", "apps.py"), self.folder,
                                           os.path.join(self.folder, "report", "apps.jsonl"), "quick", "--runs", "1"])

    def test_bench_of_a_paper_measures_judges_and_draws(self):
        options = self.dev.paper_options(["--paper", "sci", "--set", "bytes=8", "--minutes=3"])
        self.assertEqual(options, ("sci", 3.0, ["--set", "bytes=8", "--against", "mpich,openmpi"]))
        self.assertEqual(self.dev.paper_options(["--paper=all", "--against=impi"]), ("all", 0, ["--against=impi"]))
        self.assertIsNone(self.dev.paper_options(["overlap", "--set", "bytes=8"]))
        calls = []
        self.dev.report = lambda words: calls.append(words) or 0
        with mock.patch.object(self.dev.subprocess, "call", lambda words: calls.append(words[2:]) or len(calls) % 2):
            self.assertEqual(self.dev.bench_papers(*options), 1)  # measuring failed; the rest is done all the same
        samples = os.path.join(self.folder, "report", "paper-sci.jsonl")
        tools = os.path.join(ROOT, "tools", "docs")
        self.assertEqual(calls, [
            [os.path.join(tools, "measure.py"), os.path.join(self.folder, "weft"), "sci", "3.0", samples] + options[2],
            [os.path.join(tools, "papers.py"), "--samples", samples],
            [samples, "-o", samples.replace(".jsonl", ".html")]])

    def test_report_fails_without_matplotlib(self):
        with self.without_matplotlib():
            self.assertEqual(self.dev.report([SCHEMA_1]), 2)

    def test_bench_makes_the_page(self):
        if not os.path.exists(os.path.join(self.dev.DRAWING, "requirements.txt")):
            self.skipTest("no matplotlib: ./dev test installs it in .cache/report")
        self.assertEqual(self.dev.bench([]), 3)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "report", "report.html")))

    def test_help_and_files_of_ones_own_are_left_to_the_program(self):
        for rest in (["--help"], ["--json", os.path.join(self.folder, "own")]):
            self.assertEqual(self.dev.bench(rest), 3)
            self.assertEqual(self.arguments(), ["bench"] + rest)
            self.assertFalse(os.path.exists(self.dev.SAMPLES))
