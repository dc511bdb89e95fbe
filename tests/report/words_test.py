"""What scenarios and members are called in figures: words that a reader of MPI knows."""

import unittest

import support  # noqa: F401  (finds report)
from report import words


class Words(unittest.TestCase):
    def test_late_at_random(self):
        late = {"who": "all", "by": "100us", "distribution": "uniform"}
        self.assertEqual(words.late(late), "each rank late by 0 to 100 us, at random")
        self.assertEqual(words.late(dict(late, who=[2])), "rank 2 late by 0 to 100 us, at random")
        self.assertEqual(words.late(dict(late, distribution="constant")), "all ranks late by 100 us")
        self.assertEqual(words.late(dict(late, by="0")), "")

    def test_segments(self):
        for value, text in (("bcast=chain:segment=64G", "algorithm chain, not cut into segments"),
                            ("bcast=chain:segment=64K", "algorithm chain, in segments of 64 KiB"),
                            ("bcast=chain:segment=512", "algorithm chain, in segments of 512 B"),
                            ("gather=flat,alltoall=flat", "algorithms flat gather, flat alltoall"),
                            ("allgather=multi_group:leaders=2", "algorithm multi group, 2 groups a node"), ("", ""), (None, "")):
            self.assertEqual(words.axis("algorithm", value), text)

    def test_tests(self):
        self.assertEqual(words.progress("until"), "tests until the operation has ended")

    def test_members_are_explained(self):
        self.assertIn("init once, start many times", words.member("manual persistent")[1])
        for name in ("fiber", "fiber:timer", "fiber:arrival"):
            self.assertRegex(words.member(name)[1], "comput")

    def test_two_values_that_read_alike_are_one(self):
        for least, most, text in ((12.0, 12.001, "12 us"), (0.305, 0.962, "305 to 962 ns"), (0.962, 1.4, "962 ns to 1.4 us")):
            self.assertEqual(words.between(least, most, words.time), text)
        for least, most, text in ((0.5, 0.9, "0.50 to 0.90 of"), (0.5, 1.2, "0.50 to 1.20 times"), (2, 2, "2.00 times")):
            self.assertEqual(words.factors(least, most), text)

    def test_sizes_of_round_decimal_numbers(self):
        for count, text in ((12500000, "12.5 MB"), (1250000, "1.25 MB"), (12500, "12.5 kB"), (65536, "64 KiB"), (1000, "1 kB"),
                            (777, "777 B"), (12345, "12345 B"), (1 << 20, "1 MiB")):
            self.assertEqual(words.size(count), text)

    def test_how_often_a_member_tests(self):
        for name, text in (("manual, bytes:1K", "Weft, manual, a test every 1 KiB"), ("tests:1", "Weft, 1 test"),
                           ("manual, bytes:2048", "Weft, manual, a test every 2 KiB"), ("tests:20", "Weft, 20 tests")):
            self.assertEqual(words.member(name)[0], text)
        self.assertEqual(words.axis("collective", "ibcast+ibcast"), "2 times ibcast")

    def test_a_small_ratio_is_not_zero(self):
        self.assertEqual([words.ratio(value) for value in (0.0038, 0.05, 0.1, 0.954, 30.59)], ["0.0038", "0.05", "0.10", "0.95", "30.6"])

    def test_microseconds(self):
        for given, us in (("200ms", 200000), ("300us", 300), ("1s", 1000000), ("500ns", 0.5), ("0", 0), (7, 7)):
            self.assertEqual(words.microseconds(given), us)

    def test_members_say_which_call_of_which_mpi(self):
        for name, mpi, text in (("mpi", "MPICH", "MPICH nonblocking"), ("mpi blocking", "", "MPI blocking"), ("mpich", "", "MPICH nonblocking"),
                                ("openmpi blocking", "", "Open MPI blocking"), ("mpich preload", "", "Weft under MPICH (preload)"),
                                ("preload", "MPICH", "Weft under MPICH (preload)"), ("nbc:weft", "", "nbc.h over Weft"), ("auto", "", "Weft"),
                                ("in a thread over it", "MPICH", "LibNBC-like thread, on MPICH"), ("another", "", "another")):
            self.assertEqual(words.member(name, mpi)[0], text)
