"""Losses of training are gloo's."""

import unittest

from support import job


class Training(unittest.TestCase):
    def test_ddp_of_two_ranks_is_bitwise_equal(self):
        for output in job(2, "training_program.py", "ddp", "50"):
            self.assertTrue(output.startswith("equal "), output)

    def test_fsdp2_of_two_ranks_is_bitwise_equal(self):
        for output in job(2, "training_program.py", "fsdp", "10"):
            self.assertTrue(output.startswith("equal "), output)

    def test_ddp_of_four_ranks_is_equal_within_rounding(self):
        for output in job(4, "training_program.py", "ddp", "50"):
            self.assertLess(float(output.split()[-1]), 1e-4, output)

    def test_reproducible_training_is_bitwise_equal_with_all_algorithms(self):
        algorithms = ("recursive_doubling", "rabenseifner", "reduce_bcast", "reduce_scatter_allgather")
        for output in job(4, "training_program.py", "ddp", "20", *algorithms):
            self.assertEqual([line.split()[0] for line in output.splitlines()], ["equal"] * 3, output)


if __name__ == "__main__":
    unittest.main()
