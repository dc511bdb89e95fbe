"""Every operation that passes with gloo passes with weft, with the same values."""

import json
import os
import unittest

import table
from support import job


class Table(unittest.TestCase):
    def check(self, ranks, **settings):
        lines = [json.loads(line) for line in job(ranks, "table_program.py", timeout=900, **settings)[0].splitlines()
                 if line.startswith("{")]
        self.assertEqual([line["name"] for line in lines], [name for name, _ in table.ROWS])
        self.assertGreaterEqual(len(lines), 60)
        both = [line for line in lines if line["gloo"] == line["weft"] == "ok"]
        others = [line for line in lines if line["gloo"] != "ok"]
        print("%d ranks: %d operations, %d with both; gloo lacks: %s" % (
            ranks, len(lines), len(both), "; ".join(line["name"] for line in others)))
        wrong = [line for line in lines if line["weft"] != "ok" and (line["gloo"] == "ok" or line["name"] in table.ONLY_WEFT)]
        self.assertEqual(wrong, [], "\n".join(map(str, wrong)))

    def test_two_ranks(self):
        self.check(2)

    def test_three_ranks(self):
        self.check(3)

    @unittest.skipUnless(os.environ.get("WEFT_TEST_ALL"), "for a run of all tests")
    def test_two_ranks_over_tcp(self):
        self.check(2, WEFT_TRANSPORT="tcp")

    @unittest.skipUnless(os.environ.get("WEFT_TEST_ALL"), "for a run of all tests")
    def test_two_ranks_with_debug_checks_of_torch(self):
        self.check(2, TORCH_DISTRIBUTED_DEBUG="DETAIL")


if __name__ == "__main__":
    unittest.main()
