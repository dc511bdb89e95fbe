"""What only an installed wheel shows: connections, programs in C that find the library, MPI programs under the preload.

usage: wheel_try.py CMAKE, by the Python of an environment with the wheel, numpy and mpi4py (./dev wheel makes it)"""

import os
import subprocess
import sys
import tempfile

import weft

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

import mpis  # noqa: E402

# Of an MPI program, all calls that a user tries first; and Weft's own interface in the same process.
PROGRAM = """
import numpy as np
from mpi4py import MPI

w = MPI.COMM_WORLD
n = w.Get_size()
a, b, c = np.full(4, 1.0), np.zeros(4), np.zeros(4 * n)
w.Iallreduce(a, b).Wait()
assert b[3] == n
w.Allreduce(a, b)
w.Ibarrier().Wait()
w.Ibcast(a, root=0).Wait()
w.Bcast(a, root=0)
assert w.bcast([1, 2], root=0) == [1, 2]
assert w.allreduce(1) == n
w.Ialltoall(np.ones(4 * n), c).Wait()
assert c[-1] == 1
request = w.Allreduce_init(a, b)
request.Start()
request.Wait()
assert b[3] == n
assert w.gather(w.rank, root=0) == (list(range(n)) if w.rank == 0 else None)

import weft

comm = weft.from_mpi4py(w)
assert (comm.iallreduce(a).wait() == n).all()
if w.rank == 0:
    print("right")
"""

CONSUMER = """
cmake_minimum_required(VERSION 3.22)
project(consumer C)
find_package(weft REQUIRED)
add_executable(program %s)
target_link_libraries(program PRIVATE weft::weft)
"""


def run(command, **settings):
    """What a command prints; ends this program if it fails."""
    print("$ " + " ".join(command), flush=True)
    done = subprocess.run(command, env=dict(os.environ, **settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True, timeout=100)
    print(done.stdout + done.stderr, flush=True)
    if done.returncode != 0:
        sys.exit("status %d of %s" % (done.returncode, " ".join(command)))
    return done


def try_the_program_weft():
    run([weft.program(), "info"])
    for transport in ("shm", "tcp"):
        done = run([sys.executable, "-m", "weft", "run", "-n", "2", os.path.join(ROOT, "python", "examples", "sum.py")],
                   WEFT_TRANSPORT=transport, WEFT_STATS="1")
        assert "rank 1 of 2: 1" in done.stdout


def try_programs_in_c(cmake, folder):
    source, build = os.path.join(folder, "consumer"), os.path.join(folder, "build")
    os.mkdir(source)
    with open(os.path.join(source, "CMakeLists.txt"), "w") as file:
        file.write(CONSUMER % os.path.join(ROOT, "examples", "overlap.c"))
    prefix = weft.libraries()["cmake"]
    run([cmake, "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix])
    run([cmake, "--build", build])
    run([weft.program(), "run", "-n", "2", os.path.join(build, "program")])
    run([cmake, "--find-package", "-DNAME=weft", "-DCOMPILER_ID=GNU", "-DLANGUAGE=C", "-DMODE=EXIST",
         "-DCMAKE_PREFIX_PATH=" + prefix])


def try_preload(folder):
    program = os.path.join(folder, "program.py")
    with open(program, "w") as file:
        file.write(PROGRAM)
    for mpi in mpis.MPIS:
        home = mpis.home_of(ROOT, mpi)
        if home is None:
            print("skipped: no " + mpi)
            continue
        done = run(mpis.command(home, 2) + [sys.executable, "-m", "weft", "preload", program], WEFT_STATS="1",
                   **mpis.settings(mpi, home), **mpis.CROWDED.get(mpi, {}))
        assert done.stdout == "right\n" and "MPI_Iallreduce" in done.stderr, mpi


with tempfile.TemporaryDirectory() as temporary:
    try_the_program_weft()
    try_programs_in_c(sys.argv[1], temporary)
    try_preload(temporary)
