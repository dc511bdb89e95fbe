"""Runs one test file of this folder. Exits with 77 if all of its tests were skipped; says why.

usage: run.py NAME

With the Python that ./dev has made for the report, if it is there."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DRAWING = os.path.join(ROOT, ".cache", "report")


def main():
    python = os.path.join(DRAWING, "bin", "python")
    if os.path.exists(python) and os.path.realpath(sys.prefix) != os.path.realpath(DRAWING):
        os.environ["MPLCONFIGDIR"] = os.path.join(DRAWING, "config")
        os.execv(python, [python, "-B"] + sys.argv)
    sys.path[:0] = [ROOT, HERE]
    tests = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
    for case, reason in result.skipped:
        print("skipped: %s: %s" % (case, reason))
    if not result.wasSuccessful():
        return 1
    return 77 if result.testsRun == len(result.skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
