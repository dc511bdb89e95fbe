"""Groups: in any order, with settings, failures that name the rank, and ends."""

import signal
import unittest

from support import end, job, start


class Groups(unittest.TestCase):
    def test_any_order(self):
        job(3, "group_program.py", "orders")

    def test_made_again_on_one_store(self):
        job(2, "group_program.py", "again")

    def test_split_mesh_and_subgroups(self):
        job(3, "group_program.py", "split")

    def test_settings(self):
        job(2, "group_program.py", "settings")

    def test_named_device(self):
        job(2, "group_program.py", "devices")

    def test_end_without_destroy(self):
        job(2, "group_program.py", "left")

    def test_threads(self):
        job(2, "group_program.py", "threads")


class Failures(unittest.TestCase):
    def test_timeout(self):
        job(2, "group_program.py", "timeout")

    def test_timeout_of_future(self):
        job(2, "group_program.py", "future_timeout")

    def test_killed_rank(self):
        ranks = end(start(3, "group_program.py", "killed"))
        self.assertEqual(ranks[2].status, -signal.SIGKILL, str(ranks[2]))
        for rank in ranks[:2]:
            self.assertEqual((rank.status, rank.output), (0, "named rank 2\n"), str(rank))

    def test_mismatched_sizes(self):
        job(2, "group_program.py", "mismatched")

    def test_abort(self):
        job(2, "group_program.py", "aborted")

    def test_monitored_barrier(self):
        job(3, "group_program.py", "monitored")


if __name__ == "__main__":
    unittest.main()
