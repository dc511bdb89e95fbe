"""A rank that runs the cases of a file, and compares every collective's result with NumPy's.

Each rank knows what all ranks send: it computes the expected result itself. Integers, also as floating-point numbers, are
so small that all results are exact."""

import json
import sys

import numpy
import weft

try:
    import ml_dtypes  # gives NumPy the type bfloat16
except ImportError:
    pass

OPERATIONS = {"SUM": numpy.add, "PROD": numpy.multiply, "MIN": numpy.minimum, "MAX": numpy.maximum,
              "LAND": numpy.logical_and, "LOR": numpy.logical_or, "LXOR": numpy.logical_xor,
              "BAND": numpy.bitwise_and, "BOR": numpy.bitwise_or, "BXOR": numpy.bitwise_xor, "AVG": numpy.add}
GUARD = 7  # elements behind a result that must stay as they are


class Case:
    def __init__(self, comm, case):
        self.__dict__.update(case)
        self.comm = comm
        self.rank, self.size = comm.rank, comm.size
        self.root = self.root % self.size
        self.dtype = numpy.dtype(self.dtype)
        self.shape = tuple(self.shape)
        self.guard = self.dtype.type(9)

    def sent(self, rank, shape):
        """What a rank sends."""
        numbers = numpy.random.default_rng([self.seed, rank])
        made = numpy.asarray(numbers.integers(0, 3, shape)).astype(self.dtype)
        if self.dtype.kind == "c":
            made = made + self.dtype.type(1j) * numbers.integers(0, 3, shape).astype(self.dtype)
        return numpy.asarray(made)

    def all_sent(self, shape):
        return [self.sent(rank, shape) for rank in range(self.size)]

    def count(self, rank, other=0):
        """How many elements a rank sends (to another), where that differs."""
        return (self.seed + 3 * rank + 5 * other) % 4

    def combined(self, values):
        operation = OPERATIONS[self.op]
        result = values[0]
        for value in values[1:]:
            result = operation(result, value).astype(self.dtype)
        return self.divided(result) if self.op == "AVG" else result

    def divided(self, total):
        """By the number of ranks; NumPy would multiply complex numbers by its inverse."""
        if self.dtype.kind != "c":
            return numpy.asarray(total / self.dtype.type(self.size))
        result = numpy.empty_like(total)
        result.real, result.imag = total.real / self.size, total.imag / self.size
        return result

    def room(self, shape):
        """A buffer for a result, with a guard behind it: both."""
        size = int(numpy.prod(shape, dtype=int))
        memory = numpy.full(size + GUARD, self.guard)
        return memory, memory[:size].reshape(shape)

    def call(self, *arguments, **named):
        """Makes the call in the case's form; returns its result."""
        name = {"blocking": "%s", "nonblocking": "i%s", "persistent": "%s_init"}[self.form] % self.collective
        made = getattr(self.comm, name)(*arguments, **named)
        if self.form == "blocking":
            return made
        if self.form == "persistent":
            made.start()
            made.wait()
            made.start()
        result = made.wait()
        if self.form == "persistent":
            made.free()
        return result

    def check(self, result, expected):
        assert result is not None, "no result"
        result = numpy.asarray(result)
        expected = numpy.asarray(expected)
        assert result.dtype == self.dtype, "%s is not %s" % (result.dtype, self.dtype)
        assert result.size == expected.size, "%s is not like %s" % (result.shape, expected.shape)
        assert numpy.array_equal(result.ravel(), expected.ravel()), "%s is not %s" % (result, expected)

    def run(self):
        getattr(self, "try_" + self.collective)()

    # --- What all collectives of one kind have in common ---

    def uniform(self, mine, expected, place_of_mine=None, **named):
        """A call with blocks of one size. `place_of_mine`: where this rank's own block is in the result, for a call in
        place (a slice); None: the whole."""
        is_persistent_in_place = self.form == "persistent"  # a second start would combine the result again
        if self.in_place and place_of_mine is not False and not is_persistent_in_place and expected is not None:
            memory, buffer = self.room(numpy.shape(expected))
            buffer[... if place_of_mine is None else place_of_mine] = mine
            self.check(self.call(weft.IN_PLACE, buffer, **named), expected)
            assert (memory[buffer.size:] == self.guard).all(), "the guard"
        elif self.gives_out or expected is None:
            memory, buffer = self.room(numpy.shape(mine) if expected is None else numpy.shape(expected))
            result = self.call(mine, buffer, **named)
            if expected is not None:
                self.check(result, expected)
                assert result is buffer
            assert (memory[0 if expected is None else buffer.size:] == self.guard).all(), "the guard"
        else:
            self.check(self.call(mine, **named), expected)

    def blocks(self, counts, gaps):
        """Counts, displacements and a buffer for blocks with gaps between them."""
        displacements = [sum(counts[:index]) + (index if gaps else 0) for index in range(len(counts))]
        size = sum(counts) + (len(counts) if gaps else 0)
        return numpy.array(counts), displacements, numpy.full(size + GUARD, self.guard)

    def check_blocks(self, buffer, counts, displacements, expected):
        rest = numpy.ones(buffer.size, bool)
        for count, at, block in zip(counts, displacements, expected):
            self.check(buffer[at:at + count], block)
            rest[at:at + count] = False
        assert (buffer[rest] == self.guard).all(), "a gap"

    def gathered(self, mine, counts, expected, **named):
        """A call whose received blocks differ in size."""
        if self.gives_out:
            counts, displacements, buffer = self.blocks(counts, self.seed % 2)
            result = self.call(mine, [buffer, counts, displacements], **named)
            assert result is buffer
            self.check_blocks(buffer, counts, displacements, expected)
        else:
            self.check(self.call(mine, [None, counts], **named), numpy.concatenate(expected))

    # --- The collectives ---

    def try_barrier(self):
        assert self.call() is None

    def try_bcast(self):
        memory, buffer = self.room(self.shape)
        sent = self.sent(self.root, self.shape)
        if self.rank == self.root:
            buffer[...] = sent
        self.check(self.call(buffer, root=self.root), sent)
        assert (memory[buffer.size:] == self.guard).all()

    def try_gather(self):
        expected = numpy.stack(self.all_sent(self.shape)) if self.rank == self.root else None
        self.uniform(self.sent(self.rank, self.shape), expected, self.rank, root=self.root)

    def try_allgather(self):
        self.uniform(self.sent(self.rank, self.shape), numpy.stack(self.all_sent(self.shape)), self.rank)

    def try_scatter(self):
        sent = self.sent(self.root, (self.size,) + self.shape)
        memory, buffer = self.room(self.shape)
        if self.rank != self.root:
            self.check(self.call(None, buffer, root=self.root), sent[self.rank])
        elif self.in_place:
            assert self.call(sent, weft.IN_PLACE, root=self.root) is sent
        elif self.gives_out:
            self.check(self.call(sent, buffer, root=self.root), sent[self.rank])
        else:
            self.check(self.call(sent, root=self.root), sent[self.rank])
        assert (memory[buffer.size:] == self.guard).all()

    def try_alltoall(self):
        shape = (self.size,) + self.shape
        sent = self.all_sent(shape)
        self.uniform(sent[self.rank], numpy.stack([block[self.rank] for block in sent]))

    def try_reduce(self):
        expected = self.combined(self.all_sent(self.shape)) if self.rank == self.root else None
        self.uniform(self.sent(self.rank, self.shape), expected, op=self.weft_op(), root=self.root)

    def try_allreduce(self):
        self.uniform(self.sent(self.rank, self.shape), self.combined(self.all_sent(self.shape)), op=self.weft_op())

    def try_reduce_scatter_block(self):
        shape = (self.size,) + self.shape
        sent = self.all_sent(shape)
        expected = self.combined(sent)[self.rank]
        if self.in_place and self.form != "persistent":
            buffer = sent[self.rank].copy()
            result = self.call(weft.IN_PLACE, buffer, op=self.weft_op())
            self.check(result[0], expected)
        else:
            self.uniform(sent[self.rank], expected, False, op=self.weft_op())

    def try_reduce_scatter(self):
        counts = [self.count(rank) for rank in range(self.size)]
        sent = self.all_sent(sum(counts))
        begin = sum(counts[:self.rank])
        expected = self.combined(sent)[begin:begin + counts[self.rank]]
        self.uniform(sent[self.rank], expected, False, recvcounts=numpy.array(counts), op=self.weft_op())

    def try_scan(self):
        self.uniform(self.sent(self.rank, self.shape), self.combined(self.all_sent(self.shape)[:self.rank + 1]),
                     op=self.weft_op())

    def try_exscan(self):
        mine = self.sent(self.rank, self.shape)
        if self.rank == 0:
            self.call(mine, op=self.weft_op())
        else:
            self.uniform(mine, self.combined(self.all_sent(self.shape)[:self.rank]), False, op=self.weft_op())

    def try_allgatherv(self):
        counts = [self.count(rank) for rank in range(self.size)]
        expected = [self.sent(rank, counts[rank]) for rank in range(self.size)]
        self.gathered(expected[self.rank], counts, expected)

    def try_gatherv(self):
        counts = [self.count(rank) for rank in range(self.size)]
        expected = [self.sent(rank, counts[rank]) for rank in range(self.size)]
        if self.rank == self.root:
            self.gathered(expected[self.rank], counts, expected, root=self.root)
        else:
            assert self.call(expected[self.rank], root=self.root) is None

    def try_scatterv(self):
        counts = [self.count(rank) for rank in range(self.size)]
        counts, displacements, buffer = self.blocks(counts, self.seed % 2)
        blocks = [self.sent(rank, counts[rank]) for rank in range(self.size)]
        for block, at in zip(blocks, displacements):
            buffer[at:at + block.size] = block
        room, result = self.room(counts[self.rank])
        if self.rank != self.root:
            self.check(self.call(None, result, root=self.root), blocks[self.rank])
        else:
            self.check(self.call([buffer, counts, displacements], result if self.gives_out else None, root=self.root),
                       blocks[self.rank])
        assert (room[result.size:] == self.guard).all()

    def pairs(self):
        """What goes from this rank to each, and comes from each."""
        to = [self.count(self.rank, other) for other in range(self.size)]
        come = [self.count(other, self.rank) for other in range(self.size)]
        blocks = [numpy.split(self.sent(rank, sum(self.count(rank, other) for other in range(self.size))),
                              numpy.cumsum([self.count(rank, other) for other in range(self.size)])[:-1])
                  for rank in range(self.size)]
        return to, come, numpy.concatenate(blocks[self.rank]), [of[self.rank] for of in blocks]

    def try_alltoallv(self):
        to, come, mine, expected = self.pairs()
        self.gathered([mine, to], come, expected)

    def typed(self, mine, to, come, expected):
        """Of alltoallw: displacements are in bytes, and each block has a type."""
        counts, displacements, buffer = self.blocks(come, self.seed % 2)
        bytes_of = self.dtype.itemsize
        begins = [sum(to[:index]) * bytes_of for index in range(len(to))]
        result = self.call([mine, to, begins, [self.dtype] * len(to)],
                           [buffer, counts, [at * bytes_of for at in displacements], [str(self.dtype)] * len(come)])
        assert result is buffer
        self.check_blocks(buffer, counts, displacements, expected)

    def try_alltoallw(self):
        to, come, mine, expected = self.pairs()
        self.typed(mine, to, come, expected)

    # --- Neighbors: a ring ---

    def around(self):
        """The ranks before and after this one, and this rank's own communicator."""
        self.comm = self.comm.cart([self.size], [True])
        assert self.comm.neighbors() == ([(self.rank - 1) % self.size, (self.rank + 1) % self.size],) * 2
        return (self.rank - 1) % self.size, (self.rank + 1) % self.size

    def try_neighbor_allgather(self):
        before, after = self.around()
        self.uniform(self.sent(self.rank, self.shape),
                     numpy.stack([self.sent(before, self.shape), self.sent(after, self.shape)]), False)

    def try_neighbor_alltoall(self):
        before, after = self.around()
        shape = (2,) + self.shape
        self.uniform(self.sent(self.rank, shape), numpy.stack([self.sent(before, shape)[1], self.sent(after, shape)[0]]),
                     False)

    def try_neighbor_allgatherv(self):
        before, after = self.around()
        self.gathered(self.sent(self.rank, self.count(self.rank)), [self.count(before), self.count(after)],
                      [self.sent(before, self.count(before)), self.sent(after, self.count(after))])

    def pairs_around(self):
        before, after = self.around()

        def blocks(rank):
            """To the rank before, and to the one after."""
            counts = [self.count(rank, 0), self.count(rank, 1)]
            made = self.sent(rank, sum(counts))
            return made[:counts[0]], made[counts[0]:]

        mine = blocks(self.rank)
        expected = [blocks(before)[1], blocks(after)[0]]
        return [len(block) for block in mine], [len(block) for block in expected], numpy.concatenate(mine), expected

    def try_neighbor_alltoallv(self):
        to, come, mine, expected = self.pairs_around()
        self.gathered([mine, to], come, expected)

    def try_neighbor_alltoallw(self):
        to, come, mine, expected = self.pairs_around()
        self.typed(mine, to, come, expected)

    def weft_op(self):
        return getattr(weft, self.op)


def check_accumulation(comm):
    """accumulate=float32 rounds a sum of 16-bit numbers once, at the end: with four ranks that shows."""
    mine = numpy.array([2048 if comm.rank == 0 else 1], "float16")
    total = comm.dup("accumulate=float32").allreduce(mine)[0]
    assert total == numpy.float16(2048 + comm.size - 1), total


def check_wire(comm):
    """wire=int8 and bfloat16 send rounded float32, to the same bits everywhere; int8 says by how much it may be off."""
    numbers = [numpy.random.default_rng([7, rank]).uniform(-1, 1, 5000).astype("float32") for rank in range(comm.size)]
    exact = numpy.sum([number.astype("float64") for number in numbers], axis=0)
    for wire, bound in (("bfloat16", 2.0 ** -7 * comm.size), ("int8", comm.size * comm.size / 254 + 1e-5)):
        rounding = comm.dup("wire=" + wire)
        total = rounding.iallreduce(numbers[comm.rank]).wait()
        error = abs(total - exact).max()
        said = rounding.wire_error()
        assert error <= bound, (wire, error, bound)
        if wire == "bfloat16":
            assert said == 0, said
        else:
            assert error - 1e-5 <= said <= bound and (said > 0 or comm.size == 1), (error, said, bound)
        assert rounding.wire_error() == 0, "it begins anew"
        assert (comm.allgather(total) == total).all(), "bits differ"


def check_messages(comm):
    """Each rank sends to the next, in all forms and of several types; then rank 0 receives from any."""
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for tag, (dtype, shape) in enumerate([("float64", ()), ("int8", (3,)), ("complex64", (2, 3)), ("S5", (4,)), ("bool", (0,)),
                                          ("float16", (70_000,))]):
        mine = numpy.full(shape, comm.rank).astype(dtype)
        theirs = numpy.empty(shape, mine.dtype)
        expected = comm.allgather(mine)[before]
        sent = comm.isend(mine, after, tag)
        assert sent.status is None
        status = weft.Status()
        assert comm.recv(theirs, before, tag, status) is theirs
        assert sent.wait() is None
        assert (theirs == expected).all() and theirs.shape == shape
        assert (status.source, status.tag, status.count) == (before, tag, mine.size), status
        # The other way round, by mpi4py's names of arguments.
        request = comm.irecv(buf=theirs, source=after, tag=tag)
        comm.send(buf=mine, dest=before, tag=tag)
        assert request.wait() is theirs
        assert (request.status.Get_source(), request.status.Get_tag(), request.status.count) == (after, tag, mine.size)
        assert (theirs == comm.allgather(mine)[after]).all()

    values, got = bytearray(1), bytearray(1)
    requests = [comm.recv_init(got, before), comm.send_init(values, after)]
    for turn in range(3):
        values[0] = 10 * turn + comm.rank
        for request in requests:
            request.start()
        assert requests[0].status is None
        for request in requests:
            request.wait()
        assert got[0] == 10 * turn + before and requests[0].status.source == before
    for request in requests:
        request.free()

    if comm.rank > 0:
        comm.send(numpy.array([comm.rank]), 0, 3)
        return
    received = [numpy.array([-1]) for _ in range(comm.size)]
    from_any = comm.recv_init(received[0], tag=3)
    assert from_any.status is None
    sources = []
    own = comm.isend(numpy.array([0]), 0, 3)
    for turn in range(comm.size):
        if turn == 0:
            from_any.start()
            from_any.wait()
            status = from_any.status
        elif turn == 1:
            status = weft.Status()
            comm.recv(received[turn], weft.ANY_SOURCE, 3, status=status)
        else:
            request = comm.irecv(received[turn], tag=3)
            request.wait()
            status = request.status
        sources.append(status.source)
        assert received[turn][0] == status.source and (status.tag, status.count) == (3, 1), status
    own.wait()
    assert sorted(sources) == list(range(comm.size)), sources
    assert from_any.status.source == sources[0], "it keeps what it has got"


def main():
    comm = weft.init()
    with open(sys.argv[1]) as file:
        cases = json.load(file)
    for number, case in enumerate(cases):
        try:
            Case(comm, case).run()
        except BaseException:
            print("rank %d, case %d: %s" % (comm.rank, number, json.dumps(case)), file=sys.stderr)
            raise
    check_accumulation(comm)
    check_wire(comm)
    check_messages(comm)
    print("%d cases" % len(cases))


main()
