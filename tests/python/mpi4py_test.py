"""Beside mpi4py, and in a program under the preload: two users, one library. With the MPIs that ./dev installs."""

import os
import sys

import pytest
import weft

from support import ROOT, run, runs_all

sys.path.insert(0, os.path.join(ROOT, "tools"))

import mpis  # noqa: E402

PROGRAM = """
import runpy, sys
import numpy, weft
from mpi4py import MPI

first = sys.argv.pop(1)
if first == "half":  # of several jobs, then
    half = weft.from_mpi4py(MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank))
comm = weft.from_mpi4py(MPI.COMM_WORLD)
assert (comm.rank, comm.size) == (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
mine = numpy.array([comm.rank + 1.0])
theirs = numpy.zeros(1)
other = MPI.COMM_WORLD.Iallreduce(mine, theirs)
request = comm.iallreduce(mine)
assert request.wait()[0] == 3
other.Wait()
assert theirs[0] == 3
if first == "all":
    half = weft.from_mpi4py(MPI.COMM_WORLD.Split(comm.rank))
assert half.size == 1 and half.allreduce(mine)[0] == mine[0]
if comm.rank == 0:
    print("right", flush=True)
for example in sys.argv[1:]:
    sys.argv = [example]
    runpy.run_path(example, run_name="__main__")
"""


@pytest.mark.parametrize("how", ["beside", "preload"])
@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_a_program_of_mpi4pys(mpi, how, tmp_path):
    pytest.importorskip("mpi4py")
    home = mpis.home_of(ROOT, mpi)
    if home is None:
        pytest.skip("no %s; ./dev test installs it" % mpi)
    if how == "beside" and mpi == "openmpi" and not runs_all():
        pytest.skip("for a run of all tests")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = ["timeout", "50"] + mpis.command(home, 2) + [sys.executable]
    command += ["-m", "weft", "preload"] if how == "preload" else []
    # Once groups of several jobs; the examples' job has all ranks.
    first = "half" if (mpi, how) == ("openmpi", "beside") else "all"
    names = ("both.py", "step_by_step.py") if how == "beside" and first == "all" else ()
    examples = [os.path.join(ROOT, "python", "examples", name) for name in names]
    done = run(command + [str(program), first] + examples, WEFT_STATS="1", **mpis.settings(mpi, home), **mpis.CROWDED.get(mpi, {}))
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[:1] == ["right"], done.stdout + done.stderr
    if examples:
        assert lines[1].startswith("sum 3, by rank ["), lines
        assert len(lines) == 6 and len({line.split(": ")[1] for line in lines[2:]}) == 1, lines
    assert ("MPI_Iallreduce" in done.stderr) == (how == "preload"), done.stderr
