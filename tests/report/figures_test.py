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
            found += [axes.get_xlabel(), axes.get_ylabel(), axes.get_title(loc="left")]
        return re.sub(r"\s+", " ", " ".join(found))

    def dashed(self, figure):
        return [line for axes in figure.axes for line in axes.lines
                if line.get_linestyle() == "--" and len(line.get_xdata())]

    def test_the_title_is_the_answer(self):
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
                         "Hidden share beside Weft, manual: Weft, thread more at 4 of 4 points (+79 points).")

    def test_many_members_do_not_fit_and_are_left_out(self):
        from report.draw import verdict
        lines = contest({"a member %d" % k: lambda at: (100, 100, 120) for k in range(12)})
        for says in ("hidden", "time", "ratio"):
            title = verdict.headline(self.experiment(lines, says=says))
            self.assertLessEqual(len(title), verdict.HEADLINE)
            self.assertRegex(title, r"member 0.*[^.]\.$")

    def test_axes_say_their_scale_and_the_better_end(self):
        for says, sizes, sentences in (("time", SIZES, ("log scale; lower is better", "message size of the operation")),
                                       ("ratio", SIZES[:1], ("log scale; left is better",)),
                                       ("hidden", SIZES[:1], ("in % (right is better)",)),
                                       ("hidden", SIZES, ("in % (higher is better)",))):
            figure = self.figure(self.experiment(over({}, bytes=sizes), says=says))
            for sentence in sentences:
                self.assertIn(sentence, self.texts(figure).replace("\n", " "))
            if says != "hidden":
                axis = figure.axes[0].yaxis if len(sizes) > 1 else figure.axes[0].xaxis
                self.assertGreater(len(axis.get_minorticklocs()), 2)

    def test_words_and_machine_stand_under_it(self):
        for is_alone in (True, False):
            texts = self.texts(self.figure(self.experiment(over({}, bytes=SIZES)), is_alone))
            for sentence in ("hidden: the part of the operation's time that the computation beside it did not pay for",
                             "grey: by how much Weft, manual differed", "Measured with 1 rank, one machine, a CPU, 2 cores, 2026-11-27."):
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
        self.assertEqual([{x for x, _ in lines.get_segments()[0]} for lines in bands], [{at} for at in range(len(SIZES))])

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
        self.assertIn("number of ranks", self.texts(figure))
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
        self.assertIn("simulated, not measured (edged, dashed)", self.texts(figure))
        from report import page
        self.assertIn("Simulated by <code>weft simulate x</code>", page.page([experiment]))
        for other in (dict(metric="time_us"), dict(collective="igather"), dict(ranks=2), dict(member="kernel")):
            figure = self.figure(self.experiment(over({}, bytes=SIZES) + [simulated(**other)]))
            self.assertEqual([line for line in self.dashed(figure) if line.axes is figure.axes[0]], [], other)
        self.assertEqual(len(self.dashed(self.figure(self.experiment(
            over({}, bytes=SIZES) + [simulated(metric="time_us", value=150)], says="time")))), 1)

    def test_what_was_simulated_alone_has_a_panel_of_its_own(self):
        points = [simulated(member=name, ranks=128, nodes=16, bytes=size, metric="time_us", value=value + size)
                  for name, value in (("flat", 100), ("hierarchical", 10)) for size in SIZES]
        from report import split
        for lines, says in ((over({}, bytes=SIZES), "time"), (over({}, bytes=SIZES), "hidden")):
            measured, alone = split.figures(self.experiment(lines + points, says=says))
            self.assertEqual((measured.role, alone.role), ("", "model"))
            self.assertEqual(self.dashed(self.figure(measured)), [])
            figure = self.figure(alone)
            panel, = figure.axes
            self.assertEqual([list(line.get_ydata()) for line in panel.lines if line.get_linestyle() == "--"],
                             [[100 + size for size in SIZES], [10 + size for size in SIZES]])
            self.assertEqual([text.get_text() for text in panel.get_legend().get_texts()], ["flat", "hierarchical"])
            self.assertIn("ibcast, 128 ranks on 16 nodes: time of the operation", self.texts(figure))
            self.assertIn("Simulated, not measured: 74 us (hierarchical) to 164 us (flat) at 64 B", self.texts(figure))
            self.assertNotIn("share 2 cores", self.texts(figure))
        # Over the ranks, a line for each collective.
        points = [simulated(member="model", collective=name, ranks=ranks, metric="idle_us", value=ranks)
                  for name in ("ibcast", "igather") for ranks in (2, 16, 64)]
        panel, = self.figure(split.figures(self.experiment(over({}, bytes=SIZES) + points))[1]).axes
        self.assertEqual([text.get_text() for text in panel.get_legend().get_texts()], ["ibcast", "igather"])
        self.assertEqual([list(line.get_xdata()) for line in panel.lines if line.get_linestyle() == "--"], [[2, 16, 64]] * 2)
        self.assertEqual(panel.get_xlabel(), "number of ranks (log scale)")

    def test_samples_may_be_drawn_in_other_ways_too(self):
        views = [{"name": "again", "question": "And its ratio?", "says": "ratio"},
                 {"name": "last", "question": "And the work?", "says": "time", "column": "work"}]
        lines = [head(says="time", column="total", views=views)] + over({}, bytes=SIZES) + [simulated(ranks=128), END]
        whole, ratio, last = experiments_of(lines)
        self.assertEqual([one.name for one in (whole, ratio, last)], ["overlap", "again", "last"])
        self.assertEqual([one.says for one in (whole, ratio, last)], ["time", "ratio", "time"])
        self.assertIn("And its ratio?", self.texts(self.figure(ratio)))
        self.assertEqual(last.contests[0].column(), "work")
        self.assertEqual([len(one.simulated_alone) for one in (whole, ratio, last)], [1, 0, 0])
        from report.__main__ import file_names
        self.assertEqual(list(file_names([whole, ratio, last])), ["overlap", "again", "last"])

    def test_jobs_of_an_mpi_are_in_one_figure(self):
        lines, values = [], {"mpich": lambda at: (100, 100, 200), "auto": lambda at: (100, 100, 100)}
        for at, ranks in enumerate((2, 4, 8)):
            job = contest(values, bytes=8, number=at)
            for line in job:
                if line["kind"] == "cell":
                    line.update(ranks=ranks, implementation="mpi" if line["member"] == "mpich" else "weft")
                else:
                    line["ranks"] *= ranks
            lines += [dict(head(says="time"), mpi="MPICH 5.0.2")] + job
        one, = experiments_of(lines + [END])
        self.assertEqual([one.head["ranks"] for one in one.contests], [2, 4, 8])
        self.assertTrue(one.is_over_ranks)
        self.assertIn("number of ranks", self.texts(self.figure(one)))
        from report import page
        self.assertEqual(page.page([one]).count("<p class=about>"), 1, "all jobs are of one command")
        later = [dict(line, date="2026-11-28T00:00:00Z") if line["kind"] == "run" else line for line in lines]
        self.assertEqual(len(experiments_of(lines + later + [END])), 2, "measured twice")

    def test_members_with_other_settings_are_in_the_contest(self):
        """... also where each has a job of its own, with an MPI."""
        lines = []
        for name, total in (("auto", 200), ("other settings", 100)):
            lines += [dict(head(says="ratio"), mpi="MPICH 5.0.2")] + contest({name: lambda at, total=total: (100, 100, total)})
        one, = experiments_of(lines + [END])
        self.assertEqual(len(one.contests), 1)
        self.assertAlmostEqual(one.contests[0].ratio(one.contests[0].members[1]).value, 0.5)

    def test_a_tall_figure_becomes_several(self):
        from report import split
        lines = []
        for at, (mpi, nodes, collective) in enumerate((mpi, nodes, collective) for mpi in ("MPICH 5.0.2", "Open MPI 5.0.8")
                                                      for nodes in (1, 2) for collective in ("ibcast", "igather", "iscan")):
            lines += [dict(head(says="time"), mpi=mpi)] if at % 6 == 0 else []
            for size_at, size in enumerate(SIZES):
                lines += contest({"auto": lambda at: (100, 100, 200)}, bytes=size, nodes=nodes, collective=collective,
                                 number=at * 4 + size_at, first=at * 4 + size_at)
        whole, = experiments_of(lines + [END])
        self.assertEqual(len(whole.groups), 12)
        parts = split.in_parts(whole)
        self.assertEqual([(part.part, len(part.groups)) for part in parts], [("one machine", 6), ("2 nodes", 6)])
        from report import page
        self.assertIn("How much hides? (2 nodes; beside MPICH 5.0.2 and Open MPI 5.0.8)", page.page(parts))
        self.assertEqual(split.in_parts(parts[0]), [parts[0]])

    def test_columns_that_are_made_of_others(self):
        columns = ["start", "tests", "wait", "work", "total", "cpu", "blocking"]
        lines = contest({"auto": lambda at: (10, 20, 30, 100, 200, 120, 150),
                         "thread": lambda at: (1, 2, 3, 100, 110, 105, 150)}, columns=columns)
        for column, values, words in (("overhead", [60, 6], "overhead: time in start, tests and wait"),
                                      ("idle", [80, 5], "idle time: time less CPU time"),
                                      ("cpu_share", [60, 95.45], "CPU time / time, in %"),
                                      ("idle_share", [40, 4.55], "idle time / time, in %"),
                                      ("cpu_outside", [10, 4.55], "CPU time outside of the computation / time, in %")):
            experiment = self.experiment(lines, says="time", column=column)
            found = [member.estimate(column).value for member in experiment.contests[0].members]
            self.assertEqual([round(value, 2) for value in found], values, column)
            self.assertIn(words, self.texts(self.figure(experiment)))

    def test_what_the_paper_says_stands_under_its_figure(self):
        experiment = self.experiment(over({}, bytes=SIZES), notes=["It hides nearly all (VI.D)"])
        self.assertIn("It hides nearly all (VI.D)", self.texts(self.figure(experiment)))
        ours = self.experiment(over({}, bytes=SIZES), notes=["Not in the paper: the same (VI.D)"])
        self.assertNotIn("the paper: Not", self.texts(self.figure(ours)))

    def test_a_program_s_time_is_said_to_be_one(self):
        from report.draw import verdict
        lines = contest({"blocking": lambda at: (100, 100, 200), "nonblocking": lambda at: (100, 100, 120)}, arguments="--size 9")
        notes = " ".join(verdict.notes(self.experiment(lines, says="ratio", column="total")))
        self.assertIn("the time of the whole program", notes)
        self.assertNotIn("names in the legend", notes)

    def test_shares_of_more_cores_than_there_are_are_an_error(self):
        from report.draw import verdict
        for share, is_said in ((190, False), (303, True)):
            lines = contest({"auto": lambda at, share=share: (100, share)}, columns=["total", "cpu"])
            notes = verdict.notes(self.experiment(lines, says="time", column="cpu_share"))
            self.assertEqual("over 200 % on 2 cores: counting error of the clock" in notes, is_said)

    def test_the_baseline_may_be_an_mpi_s_member(self):
        lines = contest({"mpich": lambda at: (100, 100, 200), "mpich blocking": lambda at: (100, 100, 400),
                         "auto": lambda at: (100, 100, 100)})
        lines = [dict(line, implementation="weft" if line["member"] == "auto" else "mpi") if line["kind"] == "cell" else line
                 for line in lines]
        scenario = {"says": "ratio", "baseline": "mpi blocking",
                    "members": [{"name": "auto"}, {"name": "mpi"}, {"name": "mpi blocking"}]}
        one = self.experiment(lines, **scenario)
        self.assertEqual(one.baseline, "mpich blocking")
        two, = experiments_of([dict(head(**scenario), mpi="MPICH 5.0.2")] + lines +
                              [dict(head(**scenario), mpi="Open MPI 5.0.8")] + lines + [END])
        self.assertEqual(two.baseline, "mpi blocking")
        self.assertEqual(two.members, ["auto", "mpi", "mpi blocking"])
        called = [dict(line, call="blocking") if line["kind"] == "cell" else line for line in lines]
        both, = experiments_of([dict(head(**scenario), mpi="MPICH 5.0.2")] + called +
                               [dict(head(**scenario), mpi="Open MPI 5.0.8")] + called + [END])
        self.assertEqual([one.explained("mpi") for one in (two, both)],
                         ["MPI nonblocking (the MPI's own call)", "MPI blocking (the MPI's own call)"])

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
        self.assertEqual(verdict.headline(found[0]), "Time of operation and computation beside MPI nonblocking: Weft less at 4 of 4 "
                         "points (0.50 to 0.90 of it).")
        texts = self.texts(self.figure(found[0]))
        self.assertIn("MPI nonblocking = 1", texts)
        self.assertIn("grey: by how much MPI nonblocking differed", texts)
        self.assertNotIn("openmpi", texts)
        one = experiments_of(lines[:len(lines) // 2] + [END])[0]
        self.assertEqual(one.members, ["mpich", "auto"])
        lines = lines[:1] + over({"collective": "ibcast"}, bytes=SIZES)
        self.assertEqual(len(experiments_of(lines + [dict(lines[0], mpi="MPICH 6")] + lines[1:] + [END])), 1)
        self.assertEqual(len(experiments_of(lines * 2 + [END])), 2, "one MPI measured twice")

    def test_the_legend_has_the_scenario_s_order(self):
        names = ["manual", "thread", "auto"]
        lines = contest(dict.fromkeys(reversed(names), lambda at: (100, 100, 120)))
        experiment = self.experiment(lines, members=[{"name": name} for name in names])
        legend = [text.get_text() for one in self.figure(experiment).legends for text in one.get_texts()]
        self.assertEqual([text.split(" (")[0] for text in legend[:3]], ["Weft, manual", "Weft, thread", "Weft"])

    def test_long_words_of_a_member_take_lines(self):
        experiment = self.experiment(contest({"x": lambda at: (100, 100, 120), "y": lambda at: (100, 100, 130)}),
                                     members=[{"name": "x", "what": "word " * 30}])
        figure = self.figure(experiment)
        legends = [text.get_text() for one in figure.legends for text in one.get_texts()]
        self.assertLessEqual(max(len(line) for text in legends for line in text.split("\n")), 80)
        self.assertIn("word " * 29 + "word", self.texts(figure))
        places = [one.get_bbox_to_anchor().y0 for one in figure.legends]
        self.assertGreater(places[0] - places[1], 1.5 * (places[1] - places[2]))

    def test_no_median_is_at_the_edge(self):
        values = {"manual": lambda at: (0.3 if at < 6 else 6000, 1, 1), "thread": lambda at: (1, 1, 1)}
        axes = self.figure(self.experiment(contest(values, bytes=8), says="time", column="blocking")).axes[0]
        low, high = axes.get_xlim()
        self.assertTrue(low < 0.29 and 1.1 < high < 100, (low, high))
        labels = [label.get_text() for label in axes.get_xticklabels()]
        self.assertEqual(labels, ["300 ns", "500 ns", "1 us", "2 us"])

        shares = {"manual": -150, "thread": 180, "auto": -1454}
        values = {name: lambda at, share=share: (100, 100, 200 - share) for name, share in shares.items()}
        axes = self.figure(self.experiment(contest(values, bytes=8))).axes[0]
        self.assertEqual([text.get_text() for text in axes.texts if "defined" in text.get_text()], ["not defined here"] * 3)
        self.assertEqual([line for line in axes.lines if len(line.get_xdata()) == 1], [], "what is no share has no mark")

    def test_what_is_no_share_is_named_and_left_out_of_the_line(self):
        from report.draw import style
        shares = {64: 80, 1024: -533, 65536: 300, 1 << 20: 50}
        lines = []
        for at, (size, share) in enumerate(shares.items()):
            values = {"manual": lambda at, share=share: (100, 100, 200 - share), "auto": lambda at: (100, 100, 150)}
            lines += contest(values, bytes=size, number=at, first=2 * at)
        experiment = self.experiment(lines)
        figure = self.figure(experiment)
        axes = figure.axes[0]
        self.assertTrue(-100 <= axes.get_ylim()[0] and axes.get_ylim()[1] <= 130, axes.get_ylim())
        drawn = [list(line.get_ydata()) for line in axes.lines if len(line.get_xdata()) > 1]
        self.assertIn([80, 50], drawn)
        self.assertEqual(len([line for line in axes.lines if line.get_marker() == style.UNDEFINED]), 2)
        self.assertIn("+ at an edge: not defined here: no share (over 110 % or below -100 %)", self.texts(figure))

    def test_ranks_that_share_cores_are_named_near_the_title(self):
        for ranks, words in ((1, ""), (8, "8 ranks share 2 cores, so times include waiting for a core")):
            lines = [dict(line, ranks=ranks if line["kind"] == "cell" else line["ranks"] * ranks)
                     for line in over({}, bytes=SIZES)]
            texts = self.texts(self.figure(self.experiment(lines)))
            self.assertEqual("share 2 cores" in texts, bool(words))
            self.assertIn(words, texts)

    def test_each_of_ten_series_has_its_colour(self):
        from report.draw import style
        names = ["by hand", "manual", "manual, no test", "thread", "kernel", "auto", "fiber", "mpi", "by hand over it",
                 "in a thread over it"]
        experiment = self.experiment(contest(dict.fromkeys(names, lambda at: (100, 100, 120))))
        self.assertEqual(len({style.look(experiment, name)[0] for name in names}), 10)
        self.assertEqual(len({style.look_at(at)[0] for at in range(10)}), 10)

    def test_what_differs_in_its_ports_is_in_one_panel(self):
        lines = []
        for at, ports in enumerate(("", ":ports=3")):
            lines += over({"algorithm": "allgather=bruck" + ports, "collective": "iallgather"}, bytes=SIZES) if at == 0 else [
                dict(line, **({"id": line["id"] + 100, "contest": line["contest"] + 100} if line["kind"] == "cell" else
                              {"cell": line["cell"] + 100}))
                for line in over({"algorithm": "allgather=bruck" + ports, "collective": "iallgather"}, bytes=SIZES)]
        figure = self.figure(self.experiment(lines, says="time"))
        self.assertEqual([axes.get_title(loc="left") for axes in figure.axes], ["Weft, manual", "Weft, thread"])
        self.assertIn("bruck, 3 messages at a time (ports)", self.texts(figure))
        for axes in figure.axes:
            self.assertEqual(len({line.get_color() for line in axes.lines if len(line.get_xdata()) == 4}), 2)
        from report.draw import verdict
        self.assertEqual(verdict.headline(self.experiment(lines, says="time")), "Time of operation and computation with Weft, thread "
                         "beside one port: several ports equal at 4 of 4 points.")

    def test_lateness_is_on_the_axis_where_it_is_asked_for(self):
        lines = []
        for at, late in enumerate(("0", "1ms")):
            lines += contest({name: lambda _, more=more: (100, 100, 200 + 1000 * at * more) for name, more in (("auto", 0), ("mpi", 1))},
                             number=at, first=2 * at, late={"who": [1], "by": late}, bytes=8)
        experiment = self.experiment(lines, says="time", question="What does a late rank cost?")
        figure = self.figure(experiment)
        self.assertEqual(len(figure.axes), 1)
        self.assertEqual([label.get_text() for label in figure.axes[0].get_xticklabels()], ["not late", "1 ms"])
        from report.draw import verdict
        self.assertEqual(verdict.headline(experiment), "Time of operation and computation if late by 1 ms beside that without late ranks: "
                         "MPI nonblocking more (6.00 times); Weft not decided.")

    def test_algorithms_are_side_by_side_where_they_are_asked_for(self):
        lines = []
        for at, name in enumerate(("ring", "bruck", "hierarchical:inner=ring")):
            for place, size in enumerate(SIZES[:2]):
                lines += contest({"auto": lambda _, at=at: (100, 100, 200 + 100 * at)}, number=2 * at + place, first=2 * at + place,
                                 algorithm="allgather=" + name, bytes=size)
        experiment = self.experiment(lines, says="time", question="Which algorithm is the fastest?")
        figure = self.figure(experiment)
        self.assertEqual(len(figure.axes), 1)
        legend = [text.get_text() for one in figure.legends for text in one.get_texts()]
        self.assertEqual(legend[:3], ["ring", "bruck", "hierarchical, ring among the leaders"])
        from report.draw import verdict
        self.assertEqual(verdict.headline(experiment), "Time of operation and computation with Weft beside ring: bruck more at 2 of 2 points "
                         "(1.50 times); hierarchical, ring more at 2 of 2 points (2.00 times).")

    def test_a_time_of_nothing_is_written_at_the_edge(self):
        lines = []
        for at, size in enumerate(SIZES):
            lines += contest({"auto": lambda _, at=at: (100, 100 * at, 100 * at, 100 * at)}, columns=["work", "total", "wait", "cpu"],
                             bytes=size, number=at, first=at)
        for line in lines:
            if line["kind"] == "sample" and line["cell"] == 0:
                line["ranks"] = [[100, 0, 5, 0]]
        figure = self.figure(self.experiment(lines, says="time", column="wait"))
        self.assertNotIn("0 ns", [text.get_text() for text in figure.axes[0].texts])
        for line in lines:
            if line["kind"] == "sample" and line["cell"] == 0:
                line["ranks"] = [[100, 0, 0, 0]]
        figure = self.figure(self.experiment(lines, says="time", column="wait"))
        self.assertIn("0 ns", [text.get_text() for text in figure.axes[0].texts])

    def test_a_bar_beyond_all_others_is_cut_and_written(self):
        lines = []
        for at in range(12):
            lines += contest({"manual": lambda at: (10, 20, 30, 100, 200),
                              "thread": lambda at, long=at == 5: (9000, 5, 5, 100, 200) if long else (5, 5, 5, 100, 200)},
                             columns=["start", "tests", "wait", "blocking", "total"], bytes=8 << at, first=2 * at, number=at)
        axes = self.figure(self.experiment(lines, says="start")).axes[0]
        self.assertLess(axes.get_xlim()[1], 5)
        self.assertIn("150 times >", [text.get_text() for text in axes.texts])

    def test_every_size_has_a_label(self):
        sizes = (64, 1024, 8192, 65536, 262144, 1 << 20, 4 << 20)
        axes = self.figure(self.experiment(over({"collective": "ibcast"}, bytes=sizes))).axes[0]
        self.assertEqual([label.get_text().strip() for label in axes.get_xticklabels()],
                         ["64 B", "1 KiB", "8 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB"])
        self.assertEqual(list(axes.get_xticks()), list(range(len(sizes))))

    def test_the_band_lies_round_the_member_that_it_names(self):
        values = {"by hand": lambda at: (50, 100, 1), "manual": lambda at: (100, 100, 1),
                  "manual again": lambda at: (103 + at % 3, 100, 1)}
        experiment = self.experiment(contest(values), says="time", column="blocking")
        from report.draw import ratio, times
        low, high = times.band(experiment.contests[0])
        self.assertTrue(low <= 100 < 104 <= high < 110, (low, high))
        low, high = ratio.band(experiment.contests[0])
        self.assertTrue(low <= 2 < 2.08 <= high < 2.2, (low, high))
        self.assertIn("grey: by how much Weft, manual differed when measured twice", self.texts(self.figure(experiment)))

    def test_a_band_that_is_not_there_is_mentioned(self):
        two = {"manual": lambda at: (100, 100, 150), "thread": lambda at: (100, 100, 120)}
        again = dict(two, **{"manual again": two["manual"]})
        for says in ("hidden", "time", "ratio"):
            texts = self.texts(self.figure(self.experiment(contest(two), says=says)))
            self.assertIn("no grey band: no member was measured twice, so small differences may be chance", texts)
            texts = self.texts(self.figure(self.experiment(contest(again, repetitions=3), says=says)))
            self.assertNotIn("grey: by how much", texts)
            texts = self.texts(self.figure(self.experiment(contest(again), says=says)))
            self.assertNotIn("no grey band", texts)

    def test_the_note_says_from_where_to_where_a_time_goes(self):
        def note(columns, compute, **scenario):
            lines = contest({"manual": lambda at: (100,) * len(columns)}, columns=columns, compute=compute)
            return self.texts(self.figure(self.experiment(lines, **scenario)))

        none, sleep, computing = {"who": "none"}, {"who": "all", "what": "sleep"}, {"who": "all"}
        self.assertIn("time: from the last rank's start to the last rank's end;",
                      note(["delivery"], none, says="time", column="delivery"))
        alone = note(["total"], none, says="time")
        self.assertIn("time: from a rank's start of the operation to the end of its wait; of the slowest rank", alone)
        self.assertIn("wait, with the computation between them; of the slowest", note(["total"], computing, says="time"))
        self.assertIn("wait, with the sleep between them; of the slowest", note(["total"], sleep, says="time"))
        self.assertIn("one operation and of the computation, in all threads", note(["cpu"], computing, says="cpu"))
        for compute in (none, sleep):
            text = note(["cpu"], compute, says="cpu")
            self.assertIn("worked for one operation, in all threads", text)
            self.assertIn("includes the operating system's work", text)

    def test_who_waits_for_a_late_rank_is_compared_with_busy_waiting(self):
        values = {"manual": lambda at: (90 + at,), "thread": lambda at: (80 + at,)}
        waiting = dict(columns=["cpu"], compute={"who": "none"}, collective="ibarrier")
        late = {"who": [1], "by": "200ms"}
        experiment = self.experiment(contest(values, late=late, **waiting), says="cpu")
        figure = self.figure(experiment)
        self.assertIn("busy waiting: 200 ms", self.texts(figure))
        axes = figure.axes[0]
        dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
        self.assertEqual([list(line.get_xdata()) for line in dotted], [[200000, 200000]])
        self.assertGreater(axes.get_xlim()[1], 200000)
        for other in ({"who": "none"}, {"who": [1], "by": "0"}, dict(late, distribution="uniform"),
                      {"who": "all", "by": "200ms"}):
            self.assertNotIn("busy waiting", self.texts(self.figure(
                self.experiment(contest(values, late=other, **waiting), says="cpu"))))


class Simulated(unittest.TestCase):
    def test_lines_are_checked(self):
        for line, sentence in ((simulated(value="50"), '"value" = "50"; expected a number'),
                               (simulated(scenario="other"), 'scenario "other" is not among those of a "run" line before it'),
                               ({"kind": "simulated"}, 'a "simulated" line without "scenario"')):
            with self.assertRaises(samples.SampleError) as caught:
                read_text(text_of([head(), line]))
            self.assertEqual(str(caught.exception), "samples:2: " + sentence)
