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
                            ("gather=flat,alltoall=flat", "gather=flat,alltoall=flat"), ("", ""), (None, "")):
            self.assertEqual(words.axis("algorithm", value), text)

    def test_tests(self):
        self.assertEqual(words.progress("until"), "tests until the operation has ended")

    def test_members_are_explained(self):
        self.assertIn("init once, start many times", words.member("manual persistent"))
        for name in ("fiber", "fiber:timer", "fiber:arrival"):
            self.assertIn("computation", words.member(name))
