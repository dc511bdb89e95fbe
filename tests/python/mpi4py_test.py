"""Beside mpi4py, and in a program under the preload: two users, one library. With the MPIs that ./dev installs."""

import os
import sys

import pytest
import weft

from support import ROOT, run, runs_all

MPIS = {
    "mpich": ("libmpi.so.12", {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}),
    "openmpi": ("libmpi.so.40", {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                 "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                                 "PRTE_MCA_hwloc_default_binding_policy": "none",
                                 "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm"}),
}

PROGRAM = """
import sys
import numpy, weft
from mpi4py import MPI

comm = weft.from_mpi4py(MPI.COMM_WORLD)
assert (comm.rank, comm.size) == (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
mine = numpy.array([comm.rank + 1.0])
theirs = numpy.zeros(1)
other = MPI.COMM_WORLD.Iallreduce(mine, theirs)
request = comm.iallreduce(mine)
assert request.wait()[0] == 3
other.Wait()
assert theirs[0] == 3
half = weft.from_mpi4py(MPI.COMM_WORLD.Split(comm.rank))
assert half.size == 1
if comm.rank == 0:
    print("right")
"""


@pytest.mark.parametrize("how", ["beside", "preload"])
@pytest.mark.parametrize("mpi", sorted(MPIS))
def test_a_program_of_mpi4pys(mpi, how, tmp_path):
    pytest.importorskip("mpi4py")
    home = os.path.join(ROOT, ".cache", "mpi", mpi)
    if not os.path.exists(os.path.join(home, "bin", "mpiexec")):
        pytest.skip("no %s in %s; ./dev test installs it" % (mpi, home))
    if how == "beside" and mpi == "openmpi" and not runs_all():
        pytest.skip("for a run of all tests")
    library, settings = MPIS[mpi]
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = ["timeout", "50", os.path.join(home, "bin", "mpiexec"), "-n", "2", sys.executable]
    command += ["-m", "weft", "preload"] if how == "preload" else []
    done = run(command + [str(program)], MPI4PY_LIBMPI=os.path.join(home, "lib", library), WEFT_STATS="1",
               PATH=os.path.join(home, "bin") + os.pathsep + os.environ["PATH"], **settings)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stdout + done.stderr
    assert ("MPI_Iallreduce" in done.stderr) == (how == "preload"), done.stderr
