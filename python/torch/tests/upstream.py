"""torch's own tests of back ends, as far as its wheel has them, with gloo and with weft. They need the package expecttest.

usage: upstream.py [--backend gloo|weft] [--ranks N] [--list FILE] [NAME ...]

Runs the tests whose names contain one of the words, or all, with one back end or with both, and prints the outcome of
each that is not skipped. FILE gets all outcomes as JSON. Fails if a test passes with gloo and not with weft, unless
DIFFERENT has it. Tests that need GPUs, or another back end, are skipped.

Conditions of torch's tests that name back ends for CPUs ("only gloo supports this") are true of weft and gloo here. Ranks
are forked, not started anew, which takes a tenth of the time."""

import argparse
import importlib.util
import json
import os
import re
import sys
import types
import unittest

SOURCE = "torch.testing._internal.distributed.distributed_test"
# Conditions as they are there, and what is asked instead.
CONDITIONS = (
    (r'BACKEND != "mpi" and BACKEND != "nccl" and BACKEND != "gloo"', "False"),
    (r'BACKEND != "gloo" and BACKEND != "nccl"', "False"),
    (r'BACKEND != "nccl" and BACKEND != "gloo"', "False"),
    (r'BACKEND != "(gloo|mpi)"', "False"),
    (r'require_backend_is_available\(\{"gloo"\}\)', 'require_backend_is_available({"gloo", "weft"})'),
    (r'BACKEND == "mpi" or BACKEND == "gloo"', "True"),
)
# Tests that pass with gloo and not with weft, and why.
DIFFERENT = {
    "test_ddp_logging_data_cpu": 'torch names every back end that it does not bring "custom" in the log of DDP',
}


def module(backend, ranks):
    """torch's module of tests, for a back end."""
    os.environ.update(BACKEND=backend, WORLD_SIZE=str(ranks), TEMP_DIR=os.environ.get("TEMP_DIR", ""))
    from torch.testing._internal.common_distributed import DistTestCases

    for feature in ("plugin", "ddp", "subgroup", "gpu"):
        DistTestCases.backend_feature[feature].add("weft")
    with open(importlib.util.find_spec(SOURCE).origin) as file:
        text = file.read()
    for condition, instead in CONDITIONS:
        text = re.sub(condition, instead, text)
    made = types.ModuleType("torch_tests_with_" + backend)
    sys.modules[made.__name__] = made
    exec(compile(text, made.__name__ + ".py", "exec"), made.__dict__)
    return made


def suite(backend, ranks, words):
    tests = module(backend, ranks)

    class TestOfBackend(tests.TestDistBackend, tests.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            import torch.multiprocessing

            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    found = unittest.defaultTestLoader.loadTestsFromTestCase(TestOfBackend)
    return unittest.TestSuite(test for test in found if not words or any(word in test.id() for word in words))


class Outcomes(unittest.TestResult):
    def __init__(self, backend):
        super().__init__()
        self.backend, self.of = backend, {}

    def note(self, test, outcome):
        name = test.id().split(".")[-1]
        self.of[name] = outcome
        if not outcome.startswith("skipped"):
            print("%s %s: %s" % (self.backend, name, outcome.splitlines()[0]), flush=True)

    def addSuccess(self, test):
        self.note(test, "passed")

    def addSkip(self, test, reason):
        self.note(test, "skipped: " + reason)

    def addError(self, test, error):
        self.note(test, "failed: " + "; ".join(line.strip() for line in str(error[1]).splitlines() if "Error: " in line)[:600])

    addFailure = addError


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", action="append", choices=("gloo", "weft"))
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--list")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    outcomes = {}
    for backend in options.backend or ("gloo", "weft"):
        result = Outcomes(backend)
        suite(backend, options.ranks, options.words).run(result)
        outcomes[backend] = result.of
        counts = tuple(sum(outcome.startswith(kind) for outcome in result.of.values()) for kind in ("passed", "failed", "skipped"))
        print("%s: %d passed, %d failed, %d skipped" % ((backend,) + counts), flush=True)
    if options.list:
        with open(options.list, "w") as file:
            json.dump(outcomes, file, indent=1)
    if len(outcomes) < 2:
        return 0
    worse = {name for name, outcome in outcomes["weft"].items() if outcome != "passed" and outcomes["gloo"].get(name) == "passed"}
    better = [name for name, outcome in outcomes["gloo"].items() if outcome != "passed" and outcomes["weft"].get(name) == "passed"]
    print("with weft alone: " + (", ".join(better) or "none"))
    print("with gloo alone: " + (", ".join(sorted(worse)) or "none"))
    return int(not worse <= set(DIFFERENT))


if __name__ == "__main__":
    sys.exit(main())
