"""What a figure says: true, and no difference where there is none."""

import unittest

from report import words
from support import END, contest, experiments_of, head, needs_matplotlib


@needs_matplotlib
class Sentences(unittest.TestCase):
    def sentence(self, lines):
        from report.draw import verdict
        return verdict.sentence(experiments_of(lines + [END])[0])

    def contest(self, other, again=lambda at: (100 + at % 3, 100, 200), **options):
        return contest({"manual": lambda at: (100 + at % 3, 100, 200), "thread": other, "manual again": again}, **options)

    def test_only_what_is_apart_is_said_to_differ(self):
        self.assertEqual(self.sentence([head()] + self.contest(lambda at: (100 + at % 3, 100, 120))),
                         "Of the operation's time, manual hides 1 % and thread hides 81 % (clearly more than manual).")
        self.assertEqual(self.sentence([head()] + self.contest(lambda at: (100 + (at + 1) % 3, 100, 200))),
                         "Of the operation's time, manual hides 1 % and thread hides 1 % (no clear difference).")
        self.assertEqual(self.sentence([head(says="ratio")] + self.contest(lambda at: (100, 100, 150))),
                         "thread takes 0.75 of manual's time (clearly faster).")
        self.assertEqual(self.sentence([head(says="ratio")] + self.contest(lambda at: (100, 100, 150 + 100 * (at % 2)))),
                         "thread takes 0.75 of manual's time (no clear difference).")

    def test_a_difference_within_that_of_the_same_measured_twice_is_none(self):
        def wandering(at):
            return (100, 100, (196, 200, 208)[at % 3])
        lines = [head(says="ratio")] + contest({"manual": lambda at: (100, 100, 200), "thread": lambda at: (100, 100, 197),
                                                "manual again": wandering})
        self.assertEqual(self.sentence(lines), "thread takes 0.98 of manual's time (no clear difference).")

    def test_too_few_repetitions_tell_no_difference(self):
        self.assertEqual(self.sentence([head(says="ratio")] + self.contest(lambda at: (1, 100, 100), repetitions=5)),
                         "thread takes 0.50 of manual's time (no clear difference).")

    def test_no_conclusion_if_no_row_tells_anything(self):
        drifting = self.contest(lambda at: (100, 100, 195), again=lambda at: (100, 100, 220))
        self.assertEqual(self.sentence([head()] + drifting), "No conclusion: the only row is disturbed "
                                                             "(the same measured twice takes 1.1 to 1.1 of its time).")
        steady = self.contest(lambda at: (100, 100, 120), first=10, number=1, bytes=8)
        self.assertIn("(1 of 2 rows are disturbed.)", self.sentence([head()] + drifting + steady))
        worse = self.contest(lambda at: (100, 100, 900), first=20, number=2, bytes=64)
        self.assertEqual(self.sentence([head()] + drifting + worse).split(" (")[0],
                         "No conclusion: both rows are disturbed")

    def test_a_disturbed_row_is_decided_where_members_differ_by_more(self):
        for says, text in (("hidden", "manual hides 1 % and thread 80 % of the operation's time"),
                           ("ratio", "Time relative to that of manual: thread 0.60"),
                           ("time", "With manual, operation and computation together take 200 us; thread 0.60 of that")):
            wide = self.contest(lambda at: (100, 100, 120), again=lambda at: (100, 100, 220))
            narrow = self.contest(lambda at: (100, 100, 195), again=lambda at: (100, 100, 220), first=10, number=1, bytes=8)
            self.assertIn("1 of 1 row is disturbed; in 1 of them members differ by more", self.sentence([head(says=says)] + wide))
            from report.draw import verdict
            self.assertEqual(verdict.headline(experiments_of([head(says=says)] + wide + narrow + [END])[0]),
                             text + ", in the one decided row of 2 (at 1 MiB).")


    def test_rows_are_counted_in_which_what_a_rule_asks_is_decided(self):
        from report.draw import verdict
        values = {"manual": lambda at: (100, 100, 200), "thread": lambda at: (100, 100, 120),
                  "kernel": lambda at: (100, 100, 195), "manual again": lambda at: (100, 100, 220)}
        calm = dict(values, **{"manual again": values["manual"]})
        lines = contest(values) + contest(calm, bytes=8, number=1, first=4)
        self.assertEqual(verdict.headline(experiments_of([head(says="ratio", compares=[["kernel", "manual"]])] + lines + [END])[0]),
                         "Time relative to that of manual: kernel 0.97 and thread 0.60, in the one decided row of 2 (at 8 B).")


class Names(unittest.TestCase):
    def test_an_mpi_has_its_name_and_its_version(self):
        for text, name in (("MPICH Version: 5.0.2", "MPICH 5.0.2"), ("Open MPI v5.0.11", "Open MPI 5.0.11"),
                           ("Intel(R) MPI Library 2021.18.1 for Linux* OS", "Intel MPI 2021.18.1"),
                           ("Open MPI 5.0.11", "Open MPI 5.0.11"), ("another", "another"), ("", "")):
            self.assertEqual(words.mpi_name(text), name)


@needs_matplotlib
class Headlines(unittest.TestCase):
    def headline(self, values, of=lambda value: (100, 100, 200 - value), **scenario):
        """values: of each member, by collective and size."""
        from report.draw import verdict
        lines = []
        for at, row in enumerate(next(iter(values.values()))):
            members = {name: lambda at, value=rows[row]: of(value) for name, rows in values.items()}
            lines += contest(members, first=at * len(values), number=at, collective=row[0], bytes=row[1])
        experiment = experiments_of([head(**scenario)] + lines + [END])[0]
        for text in (verdict.headline(experiment), verdict.sentence(experiment)):
            self.assertNotIn("...", text)
            self.assertEqual(text[-1], ".")
        return verdict.headline(experiment)

    def times(self, values, **scenario):
        return self.headline(values, lambda value: (value, 100, 200), says="time", column="blocking", **scenario)

    @staticmethod
    def by_size(*values):
        return {("ibcast", size): value for size, value in zip((8, 512, 65536, 1 << 20), values)}

    def test_sizes_that_disagree_are_told_apart(self):
        manual = {("ibcast", 65536): 86, ("iallgather", 65536): 93, ("ibcast", 1 << 20): 10, ("iallgather", 1 << 20): 35}
        self.assertEqual(self.headline({"manual": manual}),
                         "Of the operation's time, manual hides 86 to 93 % at 64 KiB, 10 to 35 % at 1 MiB.")
        self.assertEqual(self.headline({"manual": manual, "thread": dict.fromkeys(manual, 80)}),
                         "Of the operation's time, manual hides 86 to 93 % at 64 KiB, 10 to 35 % at 1 MiB; thread 80 %.")
        self.assertEqual(self.headline({"manual": self.by_size(50, 60, 69)}),
                         "manual hides 50 to 69 % of the operation's time.")
        self.assertEqual(self.times({"manual": self.by_size(10, 12, 100), "thread": self.by_size(5, 6, 200)}),
                         "With manual, the operation takes 10 to 12 us up to 512 B, 100 us at 64 KiB; "
                         "thread 0.50 of that up to 512 B, 2.00 times that at 64 KiB.")

    def test_a_ratio_is_of_the_scenario_s_column(self):
        values = {"old": lambda at: (10, 20, 30), "new": lambda at: (5, 10, 15)}
        from report.draw import verdict
        lines = contest(values, columns=["start", "tests", "wait"])
        self.assertEqual(verdict.headline(experiments_of([head(says="ratio", column="overhead")] + lines + [END])[0]),
                         "Overhead relative to that of old: new 0.50.")

    def test_ratios_of_sizes_that_disagree_are_told_apart(self):
        self.assertEqual(self.headline({"old": self.by_size(100, 100, 100), "new": self.by_size(50, 90, 200)},
                                       lambda value: (100, 100, value), says="ratio"),
                         "Time relative to that of old: new 0.50 at 8 B, 0.90 at 512 B, 2.00 at 64 KiB.")

    def test_of_many_sizes_the_ends(self):
        self.assertEqual(self.times({"manual": self.by_size(1, 10, 100, 1000)}),
                         "With manual, the operation takes 1 us at 8 B, 1 ms at 1 MiB.")
        self.assertEqual(self.times({"manual": self.by_size(1, 10, 3, 100)}),
                         "With manual, the operation takes 1 us at 8 B, 100 us at 1 MiB.")
        self.assertEqual(self.times({"manual": self.by_size(1, 100, 10, 4)}),
                         "With manual, the operation takes 1 us at 8 B, 4 us at 1 MiB, 10 to 100 us between.")

    def along(self, rows, question, **scenario):
        """rows: a time of manual, with the cell's axes."""
        from report.draw import verdict
        lines = []
        for at, (value, axes) in enumerate(rows):
            members = {name: lambda at, value=value: (value, 100, 200) for name in ("manual", "manual again")}
            of_one = contest(members, first=2 * at, number=at, **axes)
            lines += [dict(line, ranks=line["ranks"] * axes.get("ranks", 1)) if line["kind"] == "sample" else line for line in of_one]
        return verdict.headline(experiments_of([head(question=question, says="time", column="blocking", **scenario)] + lines + [END])[0])

    def test_the_ends_of_the_axis_that_is_asked_for(self):
        self.assertEqual(self.along([(4, {"ranks": 2}), (9, {"ranks": 4}), (60, {"ranks": 8})], "How long, by ranks?"),
                         "With manual, the operation takes 4 us with 2 ranks, 60 us with 8 ranks.")
        self.assertEqual(self.along([(4, {"collective": "ibcast"}), (50, {"collective": "ibcast+ibcast"})], "Does it grow with what is outstanding?"),
                         "With manual, the operation takes 4 us with 1 outstanding, 50 us with 2 outstanding.")
        self.assertEqual(self.along([(4, {"late": {"who": [1], "by": 0}}), (50, {"late": {"who": [1], "by": "600us"}})], "What does a late rank cost?"),
                         "With manual, the operation takes 4 us if none is late, 50 us if late by 600 us.")
        link = {"delay_us": 0, "links": 1}
        self.assertEqual(self.along([(400, {"link": dict(link, rate="100mbit")}), (5, {"link": dict(link, rate="10gbit")})], "Does a slow link cost?"),
                         "With manual, the operation takes 400 us at 100 Mbit/s, 5 us at 10 Gbit/s.")

    def test_one_machine_and_nodes_are_told_apart(self):
        self.assertEqual(self.along([(4, {"nodes": 1}), (90, {"nodes": 2})], "How long?"),
                         "With manual, the operation takes 4 us on one machine, 90 us on nodes.")

    def test_operations_that_disagree_are_a_range(self):
        self.assertEqual(self.headline({"manual": {("ibcast", 8): 5, ("iallgather", 8): 95}}),
                         "manual hides 5 to 95 % of the operation's time.")

    def test_equal_words_are_said_once(self):
        self.assertEqual(self.times({"manual": self.by_size(12, 12.001)}), "With manual, the operation takes 12 us.")

    def test_what_is_together_is_named(self):
        text = self.headline(dict.fromkeys(("manual", "thread", "kernel", "auto"), self.by_size(10, 50, 90)), says="time")
        self.assertIn("operation and computation together take", text)
        self.assertNotIn("both", text)

    def test_members_without_room_are_left_out(self):
        many = {"member %d" % at: self.by_size(10, 50, 90) for at in range(9)}
        for says in ("hidden", "time", "ratio"):
            text = self.headline(many, says=says)
            self.assertIn("member 0", text)
            self.assertNotIn("member 8", text)
        from report.draw import verdict
        self.assertLessEqual(len(text), verdict.HEADLINE)
