"""Calls collectives of every kind through mpi4py, blocking, nonblocking and persistent; the first rank prints "right"."""

from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
everyone = list(range(ranks))


def numbers(*values):
    return array("i", values)


def check(name, got, wanted):
    if list(got) != list(wanted):
        raise AssertionError("%s on rank %d: %r, not %r" % (name, rank, list(got), list(wanted)))


def run(comm, name, arguments, result, wanted):
    """All three forms; `result` is in the arguments."""
    for form in (name, "I" + name.lower(), name + "_init"):
        for i in range(len(result)):
            result[i] = -1
        started = getattr(comm, form)(*arguments)
        if form.endswith("_init"):
            started.Start()
        if started is not None:
            started.Wait()
            if form.endswith("_init"):
                started.Free()
        if wanted is not None:
            check(form, result, wanted)


def collectives():
    one, into, each = numbers(rank + 1), numbers(-1), numbers(*[-1] * ranks)
    is_root = rank == ranks - 1
    total = ranks * (ranks + 1) // 2
    mine = numbers(*[10 * rank + r for r in everyone])
    backwards = everyone[::-1]
    from_all = [10 * r + rank for r in everyone]
    counts, ints = [1] * ranks, [MPI.INT] * ranks
    bytes_backwards = [4 * r for r in backwards]
    for form in ("Barrier", "Ibarrier", "Barrier_init"):
        request = getattr(world, form)()
        if form.endswith("_init"):
            request.Start()
        if request is not None:
            request.Wait()
    for form in ("Bcast", "Ibcast", "Bcast_init"):
        data = numbers(7 if is_root else -1)
        request = getattr(world, form)(data, ranks - 1)
        if form.endswith("_init"):
            request.Start()
        if request is not None:
            request.Wait()
        check(form, data, [7])

    def last(*arguments):
        return arguments + (ranks - 1,)

    def with_op(*arguments):
        return arguments + (MPI.SUM,)

    if_root = lambda wanted: wanted if is_root else None
    run(world, "Gather", last(one, each), each, if_root([r + 1 for r in everyone]))
    run(world, "Gatherv", last(one, [each, counts, backwards, MPI.INT]), each, if_root([r + 1 for r in backwards]))
    run(world, "Scatter", last(mine, into), into, [10 * (ranks - 1) + rank])
    run(world, "Scatterv", last([mine, counts, backwards, MPI.INT], into), into,
        [10 * (ranks - 1) + backwards[rank]])
    run(world, "Allgather", (one, each), each, [r + 1 for r in everyone])
    run(world, "Allgatherv", (one, [each, counts, backwards, MPI.INT]), each, [r + 1 for r in backwards])
    run(world, "Alltoall", (mine, each), each, from_all)
    run(world, "Alltoallv", ([mine, counts, everyone, MPI.INT], [each, counts, backwards, MPI.INT]), each, from_all[::-1])
    run(world, "Alltoallw", ([mine, counts, [4 * r for r in everyone], ints], [each, counts, bytes_backwards, ints]),
        each, from_all[::-1])
    run(world, "Reduce", (one, into, MPI.SUM, ranks - 1), into, if_root([total]))
    run(world, "Allreduce", with_op(one, into), into, [total])
    run(world, "Reduce_scatter", (mine, into, counts, MPI.SUM), into, [sum(from_all)])
    run(world, "Reduce_scatter_block", with_op(mine, into), into, [sum(from_all)])
    run(world, "Scan", with_op(one, into), into, [(rank + 1) * (rank + 2) // 2])
    run(world, "Exscan", with_op(one, into), into, [rank * (rank + 1) // 2] if rank else None)


def neighbors():
    grid = world.Create_cart([ranks], periods=[False])
    around = [r for r in (rank - 1, rank + 1)]
    one, two, into = numbers(rank), numbers(10 * rank, 10 * rank + 1), numbers(-1, -1)
    there = [r if 0 <= r < ranks else -1 for r in around]
    sides = [10 * there[0] + 1 if there[0] >= 0 else -1, 10 * there[1] if there[1] >= 0 else -1]
    counts, places, ints = [1, 1], [0, 1], [MPI.INT] * 2
    run(grid, "Neighbor_allgather", (one, into), into, there)
    run(grid, "Neighbor_allgatherv", (one, [into, counts, [1, 0], MPI.INT]), into, there[::-1])
    run(grid, "Neighbor_alltoall", (two, into), into, sides)
    run(grid, "Neighbor_alltoallv", ([two, counts, places, MPI.INT], [into, counts, [1, 0], MPI.INT]), into, sides[::-1])
    run(grid, "Neighbor_alltoallw", ([two, counts, [0, 4], ints], [into, counts, [4, 0], ints]), into, sides[::-1])
    grid.Free()


def objects():
    check("bcast", world.bcast([1, 2] if rank == 0 else None, root=0), [1, 2])
    check("allgather", world.allgather("rank %d" % rank), ["rank %d" % r for r in everyone])
    check("alltoall", world.alltoall([(rank, r) for r in everyone]), [(r, rank) for r in everyone])
    check("allreduce", [world.allreduce(rank + 1)], [ranks * (ranks + 1) // 2])
    check("gather", world.gather(rank, root=0) or everyone, everyone)


collectives()
neighbors()
objects()
world.Barrier()
if rank == 0:
    print("right")
