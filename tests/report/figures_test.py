"""What a figure shows that stands alone: its answer, its axes, who measured it; simulated points; several MPIs."""

import re
import unittest

from support import END, contest, experiments_of, head, needs_matplotlib, text_of, read_text
from report import samples

SIZES = (64, 1024, 65536, 1 << 20)


def simulated(**other):
    return dict({"kind": "simulated", "scenario": "overlap", "member": "manual", "collective": "ibcast", "bytes": 64,
                 "ranks": 1, "value": 50, "metric": "hidden", "command": "weft simulate x"}, **other)


def over(values, **axis):
    """Contests with one of the values of an axis each."""
    (name, points), = axis.items()
    lines = []
    for at, point in enumerate(points):
        lines += contest({"manual": lambda at: (100 + at % 3, 100, 200), "thread": lambda at: (100, 100, 120),
                          "manual again": lambda at: (100 + at % 3, 100, 200)}, first=3 * at, number=at,
                         **dict(values, **{name: point}))
    return lines


@needs_matplotlib
class Figures(unittest.TestCase):
    def experiment(self, lines, **scenario):
        return experiments_of([head(**scenario)] + lines + [END])[0]

    def figure(self, experiment, is_alone=True):
        from report.draw import kind_of, verdict
        return kind_of(experiment).draw(experiment, verdict.texts(experiment, is_alone))

    def texts(self, figure):
        found = [text.get_text() for text in figure.texts]
        for legend in figure.legends:
            found += [text.get_text() for text in legend.get_texts()]
        for axes in figure.axes:
            found += [axes.get_xlabel(), axes.get_title(loc="left")]
        return re.sub(r"\s+", " ", " ".join(found))

    def dashed(self, figure):
        return [line for axes in figure.axes for line in axes.lines
                if line.get_linestyle() == "--" and len(line.get_xdata())]

    def test_the_title_is_the_answer_in_two_lines(self):
        from report.draw import verdict
        for says in ("hidden", "time", "ratio", "start"):
            with self.subTest(says):
                experiment = self.experiment(over({}, bytes=SIZES), says=says,
                                             column="total" if says == "start" else None)
                title = verdict.headline(experiment)
                self.assertLessEqual(len(title), verdict.HEADLINE)
                self.assertIn("thread", title)
                self.assertIn(title[:40], self.texts(self.figure(experiment)))
                self.assertNotIn(title[:40], self.texts(self.figure(experiment, is_alone=False)))
        self.assertEqual(verdict.headline(self.experiment(over({}, bytes=SIZES))),
                         "manual hides 1 % and thread hides 80 % of the operation's time."
                         .replace("thread hides", "thread"))

    def test_many_members_do_not_fit_and_are_left_out(self):
        from report.draw import verdict
        lines = contest({"a member %d" % k: lambda at: (100, 100, 120) for k in range(12)})
        for says in ("hidden", "time", "ratio"):
            title = verdict.headline(self.experiment(lines, says=says))
            self.assertLessEqual(len(title), verdict.HEADLINE)
            self.assertTrue(title.endswith(" ..."), title)

    def test_axes_say_their_scale_and_the_better_end(self):
        for says, sizes, sentences in (("time", SIZES, ("log scale; lower is better", "message size of the operation (log")),
                                       ("ratio", SIZES[:1], ("log scale; left is better",)),
                                       ("hidden", SIZES[:1], ("in % (right is better)",)),
                                       ("hidden", SIZES, ("in % (higher is better)",))):
            figure = self.figure(self.experiment(over({}, bytes=sizes), says=says))
            for sentence in sentences:
                self.assertIn(sentence, self.texts(figure))
            if says != "hidden":
                axis = figure.axes[0].yaxis if len(sizes) > 1 else figure.axes[0].xaxis
                self.assertGreater(len(axis.get_minorticklocs()), 2)

    def test_words_and_machine_stand_under_it(self):
        for is_alone in (True, False):
            texts = self.texts(self.figure(self.experiment(over({}, bytes=SIZES)), is_alone))
            for sentence in ("hidden: the part of the operation's time that the computation beside it did not pay for",
                             "A/A: manual twice", "Measured with 1 rank, one machine, a CPU, 2 CPUs, 2026-11-27."):
                self.assertIn(sentence, texts)

    def test_a_method_looks_the_same_in_every_figure(self):
        from report.draw import style
        value = {"manual": lambda at: (100, 100, 120), "auto": lambda at: (100, 100, 120)}
        many = dict.fromkeys(list(style.LOOKS) + ["x", "y", "manual persistent"], value["auto"])
        few, all_of_them = self.experiment(contest(value)), self.experiment(contest(many))
        for name in value:
            self.assertEqual(style.look(few, name), style.look(all_of_them, name))
        looks = [style.look(all_of_them, name) for name in list(style.LOOKS) + ["x", "y"]]
        self.assertEqual(len(set(looks)), len(looks))
        self.assertEqual(style.look(all_of_them, "manual persistent"), style.look(all_of_them, "persistent"))
        pink = style.look(few, "auto")
        for name in ("x", "y", "z", "another"):
            self.assertNotEqual(style.look(self.experiment(contest({name: value["auto"]})), name), pink)
        named = [dict(line, implementation="mpi") if line["kind"] == "cell" else line
                 for line in contest({"mpich": value["auto"]})]
        self.assertEqual(style.look(self.experiment(named), "mpich"), style.look(all_of_them, "mpi"))

    def test_no_band_between_sizes(self):
        figure = self.figure(self.experiment(over({}, bytes=SIZES), says="time"))
        from report.draw import style
        from matplotlib.colors import to_hex
        bands = [lines for lines in figure.axes[0].collections if to_hex(lines.get_color()[0]) == style.BAND]
        self.assertEqual([{x for x, _ in lines.get_segments()[0]} for lines in bands], [{size} for size in SIZES])

    def test_lines_over_ranks(self):
        lines = []
        for line in over({"collective": "ibcast"}, ranks=(2, 4, 8)):
            lines.append(line)
        ranks = {line["id"]: line["ranks"] for line in lines if line["kind"] == "cell"}
        lines = [dict(line, ranks=line["ranks"] * ranks[line["cell"]]) if line["kind"] == "sample" else line
                 for line in lines]
        experiment = self.experiment(lines, says="time")
        figure = self.figure(experiment)
        self.assertEqual(len(figure.axes), 1)
        self.assertIn("number of ranks (log scale)", self.texts(figure))
        self.assertEqual([label.get_text() for label in figure.axes[0].get_xticklabels()], ["2", "4", "8"])

    def test_a_barrier_has_no_bytes(self):
        for collective in ("ibarrier", "ibarrier+ibarrier"):
            experiment = self.experiment(over({"collective": collective}, bytes=(1,)), says="start", column="total")
            self.assertNotIn("1 B", self.texts(self.figure(experiment)) + experiment.conditions())

    def test_what_a_cost_consists_of_is_stacked(self):
        for says, columns in (("start", ["start", "tests", "wait", "blocking", "total"]),
                              ("cpu", ["user", "system", "cpu", "blocking", "total"])):
            lines = contest({"manual": lambda at: (10, 20, 30, 100, 200), "thread": lambda at: (5, 5, 5, 100, 200)},
                            columns=columns)
            experiment = self.experiment(lines, says=says)
            figure = self.figure(experiment)
            self.assertEqual(len(figure.axes[0].patches), 2 * len(experiment.parts))
            ends = [bar.get_x() + bar.get_width() for bar in figure.axes[0].patches]
            self.assertAlmostEqual(ends[len(experiment.parts) - 1], 1)
            self.assertAlmostEqual(ends[-1], 0.25 if says == "start" else 1 / 3)
            from report import table
            self.assertEqual(table.heading(experiment)[2:2 + 2 * len(experiment.parts):2], list(experiment.parts))

    def test_simulated_points_are_told_apart(self):
        points = [simulated(bytes=size) for size in SIZES]
        experiment = self.experiment(over({}, bytes=SIZES) + points)
        figure = self.figure(experiment)
        self.assertEqual([list(line.get_ydata()) for line in self.dashed(figure)], [[50] * 4])
        self.assertIn("simulated, not measured (hollow, dashed)", self.texts(figure))
        from report import page
        self.assertIn("Simulated by <code>weft simulate x</code>", page.page([experiment]))
        for other in (dict(metric="time_us"), dict(collective="igather"), dict(ranks=2), dict(member="kernel")):
            figure = self.figure(self.experiment(over({}, bytes=SIZES) + [simulated(**other)]))
            self.assertEqual(self.dashed(figure), [], other)
        self.assertEqual(len(self.dashed(self.figure(self.experiment(
            over({}, bytes=SIZES) + [simulated(metric="time_us", value=150)], says="time")))), 1)

    def test_several_mpis_are_one_figure(self):
        lines = []
        for mpi, name in (("MPICH 5.0.2", "mpich"), ("Open MPI 5.0.8", "openmpi")):
            values = {name: lambda at: (100, 100, 200), "auto": lambda at: (100, 100, 100),
                      name + " again": lambda at: (100, 100, 200)}
            run = contest(values, bytes=8) + contest(dict(values, auto=lambda at: (100, 100, 180)), bytes=64, first=3,
                                                     number=1)
            for line in run:
                if line["kind"] == "cell":
                    line["implementation"] = "weft" if line["member"] == "auto" else "mpi"
            lines += [dict(head(says="ratio"), mpi=mpi)] + run
        found = experiments_of(lines + [END])
        self.assertEqual(len(found), 1)
        self.assertEqual(sorted(found[0].groups), ["MPICH 5.0.2", "Open MPI 5.0.8"])
        from report.draw import verdict
        self.assertEqual(verdict.headline(found[0]), "auto's time / MPI's, mean (worst): MPICH 0.67 (0.90), Open MPI 0.67 (0.90).")
        texts = self.texts(self.figure(found[0]))
        self.assertIn("mpi = 1", texts)
        self.assertIn("A/A: mpi twice", texts)
        self.assertNotIn("openmpi", texts)
        one = experiments_of(lines[:len(lines) // 2] + [END])[0]
        self.assertEqual(one.members, ["mpich", "auto"])
        lines = lines[:1] + over({"collective": "ibcast"}, bytes=SIZES)
        self.assertEqual(len(experiments_of(lines + [dict(lines[0], mpi="MPICH 6")] + lines[1:] + [END])), 1)
        self.assertEqual(len(experiments_of(lines * 2 + [END])), 2, "one MPI measured twice")


class Simulated(unittest.TestCase):
    def test_lines_are_checked(self):
        for line, sentence in ((simulated(value="50"), '"value" = "50"; expected a number'),
                               (simulated(scenario="other"), 'scenario "other" is not among those of a "run" line before it'),
                               ({"kind": "simulated"}, 'a "simulated" line without "scenario"')):
            with self.assertRaises(samples.SampleError) as caught:
                read_text(text_of([head(), line]))
            self.assertEqual(str(caught.exception), "samples:2: " + sentence)
