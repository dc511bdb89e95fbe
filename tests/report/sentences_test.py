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

    def test_no_conclusion_if_most_rows_are_disturbed(self):
        drifting = self.contest(lambda at: (100, 100, 120), again=lambda at: (100, 100, 220))
        self.assertEqual(self.sentence([head()] + drifting), "No conclusion: the only row is disturbed "
                                                             "(the same measured twice takes 1.1 to 1.1 of its time).")
        steady = self.contest(lambda at: (100, 100, 120), first=10, number=1, bytes=8)
        self.assertIn("(Without 1 disturbed row of 2.)", self.sentence([head()] + drifting + steady))
        worse = self.contest(lambda at: (100, 100, 900), first=20, number=2, bytes=64)
        self.assertEqual(self.sentence([head()] + drifting + steady + worse).split(" (")[0],
                         "No conclusion: 2 of 3 rows are disturbed")


class Names(unittest.TestCase):
    def test_an_mpi_has_its_name_and_its_version(self):
        for text, name in (("MPICH Version: 5.0.2", "MPICH 5.0.2"), ("Open MPI v5.0.11", "Open MPI 5.0.11"),
                           ("Intel(R) MPI Library 2021.18.1 for Linux* OS", "Intel MPI 2021.18.1"),
                           ("Open MPI 5.0.11", "Open MPI 5.0.11"), ("another", "another"), ("", "")):
            self.assertEqual(words.mpi_name(text), name)
