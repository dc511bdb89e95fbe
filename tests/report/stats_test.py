"""The statistics, against their definitions in docs/measuring.md."""

import json
import random
import statistics
import unittest

from report import stats
from support import END, SCHEMA_1, contest, experiments_of, head
from report import samples
from report.experiment import experiments


def second_program(file):
    """Overlap once more, from the page's definitions alone: by member, collective and bytes."""
    cells, times = {}, {}
    with open(file) as lines:
        for line in map(json.loads, lines):
            if line["kind"] == "cell" and "total" in line["columns"]:
                cells[line["id"]] = line
            elif line["kind"] == "sample" and line["cell"] in cells:
                columns = cells[line["cell"]]["columns"]
                slowest = [max(values) for values in zip(*line["ranks"])]
                times.setdefault(line["cell"], []).append(dict(zip(columns, slowest)))
    found = {}
    for number, repetitions in times.items():
        work, blocking, total = (statistics.median(times[name] for times in repetitions)
                                 for name in ("work", "blocking", "total"))
        key = tuple(cells[number][name] for name in ("member", "collective", "bytes"))
        found[key] = 100 * (work + blocking - total) / min(work, blocking)
    return found


class Intervals(unittest.TestCase):
    def test_places_are_those_of_the_sign_test(self):
        self.assertEqual(stats.interval_places(30), (9, 20))  # k = 10
        self.assertEqual(stats.interval_places(50), (17, 32))
        self.assertEqual(stats.interval_places(6), (0, 5))
        for count in range(6):
            self.assertIsNone(stats.interval_places(count), count)

    def test_the_interval_has_the_median_in_95_of_100_cases(self):
        numbers = random.Random(1)
        for count in (9, 20, 50):
            hits = 0
            for _ in range(2000):
                value = stats.estimate([numbers.expovariate(1) for _ in range(count)])
                hits += value.low <= 0.6931 <= value.high
            self.assertGreater(hits / 2000, 0.94)

    def test_outliers_are_kept(self):
        value = stats.estimate([1] * 8 + [1000])
        self.assertEqual((value.value, max(value.points)), (1, 1000))

    def test_other_statistics_have_no_interval(self):
        for name, wanted in (("min", 1), ("max", 9), ("mean", 4)):
            value = stats.estimate([1, 2, 9], name)
            self.assertEqual((value.value, value.has_interval), (wanted, False))

    def test_the_scenario_says_which_statistic(self):
        for name, wanted in (("min", 1), ("mean", 4), ("max", 9), ("median", 2)):
            lines = [head(says="time", statistic={"repetitions": name})]
            lines += contest({"manual": lambda at: (5, 5, (2, 9, 1)[at])}, repetitions=3)
            (one,) = experiments_of(lines + [END])[0].contests
            value = one.members[0].estimate("total")
            self.assertEqual((name, value.value), (name, wanted))


class Hidden(unittest.TestCase):
    def test_a_rival_that_hides_0_50_and_100_percent(self):
        for wanted in (0, 50, 100):
            times = {name: dict(enumerate(values)) for name, values in
                     (("work", [100] * 9), ("blocking", [80] * 9), ("total", [180 - 0.8 * wanted] * 9))}
            value = stats.hidden(times["work"], times["blocking"], times["total"])
            self.assertAlmostEqual(value.value, wanted)
            self.assertAlmostEqual(value.low, wanted)

    def test_it_is_of_the_medians_and_the_interval_has_it(self):
        numbers = random.Random(2)
        for _ in range(200):
            work, blocking, total = ({at: numbers.uniform(1, 9) for at in range(9)} for _ in range(3))
            value = stats.hidden(work, blocking, total)
            wanted = stats.share(*(statistics.median(times.values()) for times in (work, blocking, total)))
            self.assertEqual(value.value, wanted)
            self.assertTrue(value.low <= value.value <= value.high)

    def test_a_second_program_agrees(self):
        other = second_program(SCHEMA_1)
        compared = 0
        for experiment in experiments(*samples.read(SCHEMA_1)):
            for one in experiment.contests if experiment.says == "hidden" else []:
                for member in one.members:
                    self.assertAlmostEqual(one.hidden(member).value, other[member.name, one.head["collective"], one.bytes])
                    compared += 1
        self.assertEqual(compared, 6)


class Disturbed(unittest.TestCase):
    def test_the_rule(self):
        def aa(low, high):
            return stats.Estimate((low + high) / 2, low, high, [])
        for low, high, share, is_disturbed in (
                (0.99, 1.01, 50, False), (0.96, 1.05, None, False), (1.0, 1.02, 0, False),
                (1.001, 1.02, 50, True), (0.95, 0.999, None, True), (0.94, 1.06, 50, True),
                (0.99, 1.01, -100, False), (0.99, 1.01, -101, True), (0.99, 1.01, 110, False), (0.99, 1.01, 111, True)):
            self.assertEqual(bool(stats.disturbance(aa(low, high), share)), is_disturbed, (low, high, share))
        self.assertEqual(stats.disturbance(None, 50), "")
        self.assertTrue(stats.disturbance(None, 200))

    def test_the_repeated_member_is_compared_with_the_one_it_repeats(self):
        lines = [head(says="time", column="blocking")]
        lines += contest({"manual": lambda at: (100 + at % 2, 1, 1), "thread": lambda at: (50 + at % 2, 1, 1),
                          "thread again": lambda at: (50 + at % 2, 1, 1)})
        (one,) = experiments_of(lines + [END])[0].contests
        self.assertEqual(one.twin().name, "thread")
        self.assertEqual(one.aa.value, 1)
        self.assertEqual(one.disturbed, "")
