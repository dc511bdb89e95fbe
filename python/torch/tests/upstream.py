"""torch's own tests of back ends, as far as its wheel has them. They need the package expecttest.

usage: BACKEND=weft WORLD_SIZE=3 upstream.py [-v] [TestOfBackend.test_NAME ...]

Without names all run, which takes long. Those that ask for another back end or for GPUs are skipped."""

import os
import sys

os.environ.setdefault("BACKEND", "weft")
os.environ.setdefault("WORLD_SIZE", "3")

from torch.testing._internal.common_distributed import DistTestCases  # noqa: E402

if os.environ["BACKEND"] == "weft":
    for feature in ("plugin", "ddp"):
        DistTestCases.backend_feature[feature].add("weft")

from torch.testing._internal.common_utils import run_tests  # noqa: E402
from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend  # noqa: E402


class TestOfBackend(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()


if __name__ == "__main__":
    run_tests(sys.argv)
