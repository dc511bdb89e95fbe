"""A rank of mpi4py's test suite. Writes the outcome of each test at once to this rank's file.

rank.py FOLDER TESTS [arguments of mpi4py's test/main.py]
"""

import os
import sys
import unittest


class Recorder(unittest.TestResult):
    """FOLDER/RANK: lines "begins TEST", then "ok TEST", "skipped TEST", "failed TEST: why" or "error TEST: why"."""

    folder = file = None

    def write(self, what, test, why=None):
        if self.file is None:
            from mpi4py import MPI
            self.file = open(os.path.join(self.folder, str(MPI.COMM_WORLD.Get_rank())), "w")
        line = why and " ".join(str(why[1]).split())[:300]
        self.file.write(what + "\t" + test.id() + ("\t" + type(why[1]).__name__ + ": " + line if why else "") + "\n")
        self.file.flush()

    def startTest(self, test):
        super().startTest(test)
        self.write("begins", test)

    def addSuccess(self, test):
        self.write("ok", test)

    def addSkip(self, test, reason):
        self.write("skipped", test)

    def addFailure(self, test, why):
        self.write("failed", test, why)

    def addError(self, test, why):
        self.write("error", test, why)

    def addExpectedFailure(self, test, why):
        self.write("ok", test)

    def addUnexpectedSuccess(self, test):
        self.write("failed", test)

    def addSubTest(self, test, subtest, why):
        if why is not None:
            self.write("failed" if issubclass(why[0], test.failureException) else "error", test, why)


class Runner:
    def __init__(self, **_):
        pass

    def run(self, suite):
        result = Recorder()
        suite(result)
        result.file.write("end\n")
        result.file.close()
        return result


# Processes that tests start read this file, too.
if __name__ == "__main__":
    Recorder.folder, tests = sys.argv[1:3]
    sys.argv = ["main.py", "--no-builddir"] + sys.argv[3:]
    sys.dont_write_bytecode = True
    sys.path.insert(0, tests)
    import main  # mpi4py's
    try:
        main.main(module=None, testRunner=Runner)
    except SystemExit:
        pass  # failures are in the file: a nonzero status means that the job did not end well
