"""mpi4py and Weft in one program: mpiexec -n 2 python both.py

mpi4py keeps what it has done before; the sum that should travel during the computation is Weft's."""

import numpy
import weft
from mpi4py import MPI

world = MPI.COMM_WORLD
comm = weft.from_mpi4py(world)  # the same ranks

values = world.scatter([numpy.full(1 << 20, rank + 1.0) for rank in range(world.size)] if world.rank == 0 else None)
request = comm.iallreduce(values)  # was: world.Iallreduce(values, total)
mine = numpy.sqrt(values).sum()  # computes; needs no calls of test
total = request.wait()
everyone = world.gather(mine)
if world.rank == 0:
    print("sum %g, by rank %s" % (total[0], ["%g" % value for value in everyone]))
