"""An mpi4py program that is turned over to Weft in three steps: mpiexec -n 2 python step_by_step.py [STEP]

Each step is a whole program, and all print the same: blocks are summed over all ranks while the next one is computed."""

import asyncio
import sys

import numpy

BLOCKS, SIZE = 5, 1 << 18


def work(rank, number, between=lambda: None):
    """Computes a block; calls `between` now and then."""
    block = numpy.empty(SIZE)
    for begin in range(0, SIZE, SIZE // 8):
        piece = numpy.arange(begin, begin + SIZE // 8)
        block[piece] = numpy.sqrt(piece % 16) * (rank + 1) + number
        between()
    return block


def step_0():
    """mpi4py. The sum advances in calls only, so the computation is full of tests."""
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    result, total = 0.0, numpy.empty(SIZE)
    block = work(comm.rank, 0)
    for number in range(1, BLOCKS + 1):
        request = comm.Iallreduce(block, total, op=MPI.SUM)
        following = work(comm.rank, number, between=request.Test)
        request.Wait()
        result += total[-1]
        block = following
    return comm.rank, result


def step_1():
    """The one operation that should be hidden is Weft's; mpi4py stays for the rest. No test is needed."""
    import weft
    from mpi4py import MPI
    comm = weft.from_mpi4py(MPI.COMM_WORLD)
    result, total = 0.0, numpy.empty(SIZE)
    block = work(comm.rank, 0)
    for number in range(1, BLOCKS + 1):
        request = comm.iallreduce(block, total, op=weft.SUM)
        following = work(comm.rank, number)
        request.wait()
        result += total[-1]
        block = following
    MPI.COMM_WORLD.Barrier()
    return comm.rank, result


def step_2():
    """Without MPI, by any launcher; the result is a new array."""
    import weft
    comm = weft.init()
    result = 0.0
    block = work(comm.rank, 0)
    for number in range(1, BLOCKS + 1):
        request = comm.iallreduce(block)
        block = work(comm.rank, number)
        result += request.wait()[-1]
    return comm.rank, result


def step_3():
    """A coroutine: while it awaits the sum, others have the thread."""
    import weft
    comm = weft.init()

    async def sums():
        result = 0.0
        block = work(comm.rank, 0)
        for number in range(1, BLOCKS + 1):
            request = comm.iallreduce(block)
            block = work(comm.rank, number)
            result += (await request)[-1]
        return result

    return comm.rank, asyncio.run(sums())


for step in sys.argv[1:] or "0123":
    rank, result = globals()["step_" + step]()
    if rank == 0:
        print("step %s: %g" % (step, result))
