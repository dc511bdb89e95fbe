"""What a figure says: true, and no difference where there is none."""

import unittest

from report import words
from support import END, contest, experiments_of, head, needs_matplotlib


class Names(unittest.TestCase):
    def test_an_mpi_has_its_name_and_its_version(self):
        for text, name in (("MPICH Version: 5.0.2", "MPICH 5.0.2"), ("Open MPI v5.0.11", "Open MPI 5.0.11"),
                           ("Intel(R) MPI Library 2021.18.1 for Linux* OS", "Intel MPI 2021.18.1"),
                           ("Open MPI 5.0.11", "Open MPI 5.0.11"), ("another", "another"), ("", "")):
            self.assertEqual(words.mpi_name(text), name)


@needs_matplotlib
class Titles(unittest.TestCase):
    def title(self, lines):
        from report.draw import verdict
        return verdict.headline(experiments_of(lines + [END])[0])

    def contest(self, other, again=lambda at: (100 + at % 3, 100, 200), **options):
        return contest({"manual": lambda at: (100 + at % 3, 100, 200), "thread": other, "manual again": again}, **options)

    def test_a_point_is_less_more_equal_or_not_decided(self):
        def of(total, again=200, **options):
            return self.title([head(says="ratio")] + self.contest(lambda at: (100, 100, total), again=lambda at: (100, 100, again), **options))
        opening = "Time of operation and computation beside Weft, manual: Weft, thread "
        self.assertEqual(of(150), opening + "less (0.75 of it).")
        self.assertEqual(of(300), opening + "more (1.50 times).")
        self.assertEqual(of(202), opening + "more (1.01 times).")
        self.assertEqual(of(202, again=206), opening + "equal.", "chance is as large, and both are small")
        self.assertEqual(of(195, again=240), opening + "not decided.")
        self.assertEqual(of(120, again=240), opening + "less (0.60 of it).", "more than the same measured twice differs")
        self.assertEqual(of(100, repetitions=5), opening + "not decided.")

    def test_points_are_counted_and_ties_are_equal(self):
        lines = [head(says="time")]
        for at, total in enumerate((100, 120, 200, 230)):
            lines += self.contest(lambda _, total=total: (100, 100, total), bytes=8 << at, number=at, first=3 * at)
        self.assertEqual(self.title(lines), "Time of operation and computation beside Weft, manual: Weft, thread less at 2 of 4 points (0.50 to 0.60 "
                                            "of it), equal at 1, more at 1 (1.15 times).")

    def test_marks_are_filled_where_the_title_counts(self):
        experiment = experiments_of([head(says="time")] + self.contest(lambda at: (100, 100, 120), again=lambda at: (100, 100, 220)) + self.contest(
            lambda at: (100, 100, 195), again=lambda at: (100, 100, 240), first=10, number=1, bytes=8) + [END])[0]
        self.assertEqual([experiment.is_open(one, one.member("thread")) for one in experiment.contests], [False, True])
        self.assertFalse(any(experiment.is_open(one, one.member("manual")) for one in experiment.contests))
        from report.draw import verdict
        self.assertIn("less at 1 of 2 points (0.60 of it), not decided at 1.", verdict.headline(experiment))

    def test_hidden_shares_are_compared_in_points(self):
        lines = contest({"manual": lambda at: (100, 100, 210), "thread": lambda at: (100, 100, 120), "manual again": lambda at: (100, 100, 210)})
        self.assertEqual(self.title([head()] + lines), "Hidden share beside Weft, manual: Weft, thread more (+90 points).")
        wide = contest({"manual": lambda at: (100, 100, 200 - 60 * (at % 2)), "thread": lambda at: (100, 100, 105)})  # 0 to 60 %
        self.assertIn("not decided", self.title([head()] + wide))

    def test_a_rule_s_reference_is_the_title_s_and_the_axis(self):
        names = ["manual", "thread", "auto"]
        lines = contest({name: lambda at, total=100 * (k + 2): (100, 100, total) for k, name in enumerate(names)})
        experiment, = experiments_of([head(says="ratio", compares=[["manual", "thread"]])] + lines + [END])
        self.assertEqual(experiment.baseline, "thread")
        from report.draw import verdict
        self.assertTrue(verdict.headline(experiment).endswith("beside Weft, thread: Weft, manual less (0.67 of it); Weft more (1.33 times)."))

    def test_the_ends_of_the_axis_that_is_asked_for(self):
        def along(question, **axis):
            (name, values), = axis.items()
            lines = [head(question=question, says="time", column="blocking")]
            for at, value in enumerate(values):
                of_one = contest({one: lambda _, at=at: (4 + 50 * at, 1, 1) for one in ("manual", "manual again")}, number=at, first=2 * at, **{name: value})
                ranks = value if name == "ranks" else 1
                lines += [dict(line, ranks=line["ranks"] * ranks) if line["kind"] == "sample" else line for line in of_one]
            return self.title(lines)
        self.assertEqual(along("How long, by ranks?", ranks=(2, 8)), "Time: Weft, manual 4 us with 2 ranks, 54 us with 8 ranks.")
        self.assertEqual(along("Does it grow with what is outstanding?", collective=("ibcast", "ibcast+ibcast")),
                         "Time: Weft, manual 4 us with 1 outstanding, 54 us with 2 outstanding.")
        link = {"delay_us": 0, "links": 1}
        self.assertEqual(along("Does a slow link cost?", link=(dict(link, rate="100mbit"), dict(link, rate="10gbit"))),
                         "Time: Weft, manual 4 us at 100 Mbit/s, 54 us at 10 Gbit/s.")

    def test_a_question_about_statistics_compares_them(self):
        lines = contest({"auto": lambda at: (100, 100, 200 if at else 400)})
        self.assertEqual(self.title([head(question="Which difference does the statistic make?", says="time")] + lines),
                         "Beside the median of the times, the least is 1.00 of it; the mean is 1.11 of it; the most is 2.00 of it.")


@needs_matplotlib
class Verdicts(unittest.TestCase):
    RULE = {"scenario": "overlap", "metric": "total", "of": "thread", "to": "manual", "over": ["bytes>=64K"], "cells": "all", "at_most": 0.9}

    def experiments(self, *claims, times=(120, 120), **scenario):
        lines = [head(says="time", claims=[dict({"says": "Threads pay", "where": "4.2", "verdict": "confirmed", "rule": self.RULE}, **one)
                                           for one in claims], **scenario)]
        for at, (size, total) in enumerate(zip((8, 65536, 1 << 20), (150,) + times)):
            lines += contest({"manual": lambda at: (100, 100, 200), "thread": lambda _, total=total: (100, 100, total),
                              "manual again": lambda at: (100, 100, 201)}, bytes=size, number=at, first=3 * at)
        from report import split
        return split.figures(experiments_of(lines + [END])[0])

    def texts(self, experiment):
        from report.draw import kind_of, verdict
        figure = kind_of(experiment).draw(experiment, verdict.texts(experiment, is_alone=True))
        found = [text.get_text() for text in figure.texts]
        for axes in figure.axes:
            found += [text.get_text() for text in axes.texts] + [label.get_text() for label in axes.get_yticklabels()]
        for legend in figure.legends:
            found += [text.get_text() for text in legend.get_texts()]
        return " ".join(" ".join(found).split()), figure

    def test_the_judged_quotient_is_drawn_with_what_was_asked(self):
        first, detail = self.experiments({}, setup="64 nodes, InfiniBand")
        self.assertEqual((first.role, detail.role), ("verdict", "detail"))
        texts, figure = self.texts(first)
        self.assertIn("CONFIRMED (holds at 2 of 2 points). Time of operation and computation of Weft, thread is 0.6 times that of "
                      "Weft, manual.", texts)
        self.assertIn("paper (§4.2): Threads pay.", texts)
        self.assertIn("(from 64 KiB on); asked: at most 0.9 times as much at every point.", texts)
        self.assertIn("the paper's set-up: 64 nodes, InfiniBand", texts)
        axes = figure.axes[-1]
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()], ["64 KiB", "1 MiB"])
        self.assertIn([0.9, 0.9], [list(line.get_xdata()) for line in axes.lines])
        self.assertEqual(sorted(float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "o"), [0.6, 0.6])

    def test_a_detail_has_no_verdict(self):
        _, detail = self.experiments({})
        texts, _ = self.texts(detail)
        self.assertNotIn("CONFIRMED", texts)
        self.assertIn("This is a detail of the figure overlap, which has the verdicts.", texts)

    def test_several_claims_have_letters_and_ours_are_questions(self):
        first = self.experiments({"cause": "it waits"}, {"says": "Our question: is it so?", "rule": dict(self.RULE, at_most=0.5)})[0]
        texts, figure = self.texts(first)
        self.assertIn("A CONFIRMED, B NOT CONFIRMED.", texts)
        self.assertIn("B NOT CONFIRMED (holds at 0 of 2 points).", texts)
        self.assertIn("our question: is it so?", texts)
        self.assertIn("why: it waits.", texts)
        self.assertIn("fails: not what was asked", texts)
        self.assertNotIn("fails: not what was asked", self.texts(self.experiments({})[0])[0], "the legend has what occurs")

    def test_what_does_not_count_is_hollow(self):
        from report.draw import judged
        first = self.experiments({}, times=(180, 120))[0]
        (_, one), = judged.judged_of(first)
        self.assertEqual([finding.state for finding in one.findings], ["open", "holds"])
        self.assertIn("holds at 1 of 1 point; 1 more does not count", self.texts(first)[0])

    def test_a_median_has_a_row_of_its_own(self):
        texts, _ = self.texts(self.experiments({"rule": dict(self.RULE, cells="median")})[0])
        self.assertIn("CONFIRMED (median of 2 points)", texts)
        self.assertIn("the median", texts)

    def test_a_view_of_another_quantity_has_no_verdict(self):
        views = [{"name": "v", "question": "And the work?", "column": "work"}, {"name": "w", "question": "And so?", "says": "ratio"}]
        lines = self.experiments({}, views=views)
        self.assertEqual([one.role for one in lines], ["verdict", "detail"])
        from report.draw import judged
        from report import experiment
        whole = lines[0]
        for view, count in zip(views, (0, 1)):
            one = experiment.Experiment("overlap", whole.runs, "", view=dict(view, claims=whole.scenario["claims"]))
            self.assertEqual(len(judged.claims_of(one)), count)
