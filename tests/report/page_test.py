"""The page and the PNG files: complete, true, and the same from the same samples."""

import html
import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

from support import END, SCHEMA_1, cell, contest, experiments_of, head, needs_matplotlib, sample, text_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@needs_matplotlib
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """The page of the drawn file, with its PNG files and tables, once."""
        cls.all_folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.all_folder.cleanup)
        cls.of_schema_1 = cls.page_in(cls.all_folder.name, SCHEMA_1, "--png", "png", "--markdown", "tables")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    @staticmethod
    def report(folder, *arguments):
        return subprocess.run([sys.executable, "-B", "-m", "report", *arguments, "-o", "page.html"], cwd=folder,
                              env=dict(os.environ, PYTHONPATH=ROOT), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=60)

    @classmethod
    def page_in(cls, folder, *arguments):
        done = cls.report(folder, *arguments)
        name = os.path.join(os.path.realpath(folder), "page.html")
        assert (done.returncode, done.stdout, done.stderr) == (0, name + "\n", ""), done
        with open(name) as file:
            return file.read()

    def page_of_lines(self, *lines):
        with open(self.path("samples"), "w") as file:
            file.write(text_of(lines))
        return self.page_in(self.folder.name, "samples")

    def test_every_experiment_has_its_parts(self):
        page = self.of_schema_1
        sections = re.findall(r"<section.*?</section>", page, re.DOTALL)
        self.assertEqual(len(sections), 7)
        names = []
        for section in sections[:-1]:
            self.assertRegex(section, "<h2><span class=question>[A-Z][^<]*[?]</span>[^<]{20,240}[.]</h2>")
            self.assertRegex(section, r'<svg role="img" aria-label="[^"]{100,}"')
            self.assertIn(" again</td>", section)
            self.assertIn("(A/A)</td>", section)
            self.assertIn("<pre>weft bench --json samples.jsonl</pre>", section)
            self.assertIn("machine: AMD EPYC 7B13, 2 CPUs, Linux 6.18.5", section)
            self.assertIn("date: 2026-11-27T02:20:00Z", section)
            names.append(re.search('id="e[0-9]-([a-z]+)"', section).group(1))
        self.assertEqual(names, ["overlap", "latency", "builds", "idle", "start", "delay"])
        for name in names:
            self.assertGreater(os.path.getsize(os.path.join(self.all_folder.name, "png", name + ".png")), 10_000)
            with open(os.path.join(self.all_folder.name, "tables", name + ".md")) as file:
                table = [line for line in file if line.startswith("|")]
            self.assertEqual(len({line.count("|") for line in table}), 1)
            self.assertGreater(len(table), 4)

    def test_what_is_missing_is_named(self):
        page = self.of_schema_1
        sentence = "relay: kernel (io_uring_setup: Operation not permitted)"
        self.assertIn("<li>%s</li>" % sentence, page)
        self.assertIn("<p class=warn>Missing: %s</p>" % sentence, page)
        lines = [head(), cell(0, "manual", columns=["cpu"]), sample(0, 0, 1.0), END]
        self.assertIn("Missing: overlap (its samples have no times of this kind)", self.page_of_lines(*lines))
        self.assertIn("Missing: nothing of it was measured.", self.page_of_lines(head(), END))

    def test_what_is_disturbed_is_marked(self):
        page = self.of_schema_1
        self.assertEqual(len(re.findall("disturbed: the same measured twice takes 1.0[0-9]* to 1.[01][0-9]* of its time", page)), 1)

    def test_the_switch_is_in_the_results_that_used_it(self):
        page = self.of_schema_1
        self.assertEqual(page.count("adds 31 us of its own to each message, was at most 220 us late and used 1.10 s of "
                                    "CPU for 1.00 GB (1.10 s a GB); congestion control: cubic."), 1)

    def test_it_needs_nothing_else(self):
        page = self.of_schema_1
        for word in ("<script", "src=", "@import", "<link", "@font-face"):
            self.assertNotIn(word, page)
        self.assertEqual(set(re.findall(r'(?:href|xlink:href)="([^#"][^"]*)"', page)), set())
        self.assertIn('<meta name=viewport content="width=device-width', page)
        self.assertIn("prefers-color-scheme: dark", page)

    def test_colours_follow_the_style_sheet(self):
        drawings = "".join(re.findall("<svg.*?</svg>", self.of_schema_1, re.DOTALL))
        self.assertEqual(set(re.findall("#[0-9a-f]{6}", drawings)), set())
        self.assertIn("var(--ink)", drawings)

    def test_no_two_things_have_one_name(self):
        names = re.findall(r'\bid="([^"]*)"', self.of_schema_1)
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_the_same_samples_give_the_same_page(self):
        self.assertEqual(self.page_in(self.folder.name, SCHEMA_1), self.of_schema_1)

    def test_names_are_text_not_markup(self):
        page = self.page_of_lines(head(question='Is <b>"x" & y</b> $\\frac$ fast?'), *contest(
            {"<i>$a_b$": lambda at: (100, 100, 150), "_x & y": lambda at: (100, 100, 120)}), END)
        self.assertNotIn("<b>", page)
        self.assertNotIn("<i>", page)
        self.assertIn(html.escape('Is <b>"x" & y</b> $\\frac$ fast?'), page)
        self.assertIn(html.escape("<i>$a_b$"), "".join(re.findall("<svg.*?</svg>", page, re.DOTALL)))
        self.assertIn(html.escape("_x & y"), "".join(re.findall("<text.*?</text>", page, re.DOTALL)))

    def test_unusual_samples(self):
        from report.page import page as write_page
        two = {"manual": lambda at: (100, 100, 150), "thread": lambda at: (100, 100, 120)}
        for name, lines in {
                "a member alone": contest({"manual": lambda at: (100, 100, 150)}),
                "one repetition": contest(two, repetitions=1),
                "only the repeated one": contest({"manual again": lambda at: (100, 100, 150)}),
                "far outside": contest({"manual": lambda at: (100, 100, 1e6), "thread": lambda at: (1, 100, 1e-3)}),
                "zero": contest({"manual": lambda at: (0, 0, 0), "thread": lambda at: (100, 100, 120)}),
                "null": contest({"manual": lambda at: (None, 100, 100), "thread": lambda at: (100, 100, 120)}),
                "many": contest({"m%d" % k: lambda at: (100, 100, 120) for k in range(12)}),
                "no samples": contest(two, repetitions=0),
                "several sizes": contest(two, bytes=8) + contest(two, first=9, number=1, bytes=1 << 20)}.items():
            for says in ("hidden", "time", "ratio"):
                with self.subTest(name, says=says), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    page = write_page(experiments_of([head(says=says)] + lines + [END]))
                    self.assertNotIn("nan", re.sub("<style.*?</style>", "", page, flags=re.DOTALL))

    def test_a_kind_without_drawing_gets_that_of_times(self):
        lines = contest({"manual": lambda at: (100, 100, 150)}, bytes=8)
        page = self.page_of_lines(head(says="distance", column="blocking"), *lines, END)
        self.assertIn("Time: Weft, manual 100 us.", page)

    def test_an_interrupted_file_says_so(self):
        lines = contest({"manual": lambda at: (100, 100, 150)})
        self.assertIn("samples: The run was interrupted: the file has no &quot;end&quot; line.",
                      self.page_of_lines(head(), *lines))

    def test_what_is_wrong_with_a_file_is_said(self):
        with open(self.path("bad"), "w") as file:
            file.write(text_of([head(), "{"]))
        for arguments, sentence in ((["bad"], "bad:2: no JSON: "), (["none"], "none: No such file"),
                                    ([], "no samples; name a file")):
            done = self.report(self.folder.name, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("./dev report: " + sentence, done.stderr)
            self.assertFalse(os.path.exists(self.path("page.html")))
