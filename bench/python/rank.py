"""A rank of ./dev bench --python (tools/python_bench.py starts it): rank 0 prints what was measured, as JSON.

usage: rank.py latency PART | rank.py await PART FOLDER
latency: sums of 8 bytes, started and waited for; C, the package and, in a job of an MPI, mpi4py take turns in one process
await: a sum whose other rank comes late, awaited, beside C's wait and a byte through a pipe; CPU; many operations"""

import asyncio
import ctypes
import json
import os
import random
import statistics
import sys
import time

# Each rank its own core. (`weft run --bind core` has done it.)
RANK = next((int(os.environ[name]) for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK") if name in os.environ), None)
if RANK is not None:
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[RANK % len(cores)]})

import numpy  # noqa: E402
import weft  # noqa: E402

if RANK is None:
    MPI = None
    comm = weft.init()
else:
    from mpi4py import MPI
    comm = weft.from_mpi4py(MPI.COMM_WORLD)

part = ctypes.CDLL(sys.argv[2])
part.c_sums.restype = part.c_sum_at.restype = ctypes.c_int64
part.c_begin()
mine, total = numpy.ones(1), numpy.zeros(1)
turns = random.Random(1)  # the same on all ranks


def in_turn(members, repetitions, measure):
    """Lists of measure(member), by name; the members take turns in random order."""
    samples = {name: [] for name in members}
    for _ in range(repetitions):
        for name in turns.sample(sorted(members), len(members)):
            comm.barrier()
            samples[name].append(measure(members[name]))
    return samples


# --- Latency -----------------------------------------------------------------------------------------

SUMS = 2000


def by_weft():
    for _ in range(SUMS):
        comm.iallreduce(mine, total).wait()


def by_mpi4py():
    world = MPI.COMM_WORLD
    for _ in range(SUMS):
        world.Iallreduce(mine, total).Wait()


def latency():
    members = {"C": lambda: part.c_sums(SUMS), "weft": by_weft, "weft again": by_weft}
    if MPI is not None:
        members["mpi4py"] = by_mpi4py

    def nanoseconds(member):
        begin = time.perf_counter_ns()
        member()
        return (time.perf_counter_ns() - begin) / SUMS

    in_turn(members, 5, nanoseconds)  # warms up
    samples = in_turn(members, 150, nanoseconds)

    def compared(other, how):
        return statistics.median(how(a, b) for a, b in zip(samples["weft"], samples[other]))

    result = {"ns": {name: statistics.median(values) for name, values in samples.items()},
              "over_c_ns": compared("C", lambda a, b: a - b), "again": compared("weft again", lambda a, b: a / b)}
    if MPI is not None:
        result["of_mpi4py"] = compared("mpi4py", lambda a, b: a / b)
        result["library"] = " ".join(MPI.Get_library_version().splitlines()[0].split(",")[0].split(" for ")[0].strip("\0").split())
    return result


# --- await -------------------------------------------------------------------------------------------

def late():
    """The other rank computes meanwhile."""
    end = time.monotonic_ns() + turns.randrange(300_000, 500_000)
    while time.monotonic_ns() < end:
        pass


class Pipe:
    """A named pipe from rank 1 to rank 0."""

    def __init__(self, folder):
        path = os.path.join(folder, "pipe")
        if comm.rank == 0:
            os.mkfifo(path)
        comm.barrier()
        self.descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.event = asyncio.Event()
        if comm.rank == 0:
            asyncio.get_running_loop().add_reader(self.descriptor, self.read)

    def read(self):
        os.read(self.descriptor, 1)
        self.event.set()

    async def receive(self):
        self.event.clear()
        await self.event.wait()


async def wake_up(member, pipe):
    """One wake-up of rank 0, in rank 0's and rank 1's time: when it was awake, and when rank 1 came."""
    if comm.rank == 1:
        late()
        if member == "C":
            return part.c_sum_at(1)
        begin = time.monotonic_ns()
        if member == "pipe":
            os.write(pipe.descriptor, b"x")
        else:
            comm.iallreduce(mine, total).wait()
        return begin
    turns.randrange(300_000, 500_000)
    if member == "C":
        return part.c_sum_at(0)
    if member == "pipe":
        await pipe.receive()
    else:
        await comm.iallreduce(mine, total)
    return time.monotonic_ns()


async def wake_ups(folder, repetitions):
    pipe = Pipe(folder)
    names = ["C", "pipe", "await"]
    times = {name: [] for name in names}
    for _ in range(repetitions):
        for name in turns.sample(names, len(names)):
            comm.barrier()
            times[name].append(await wake_up(name, pipe))
    result = {}
    for name in names:
        both = comm.allgather(numpy.array(times[name]))
        result[name] = float(numpy.median((both[0] - both[1])[20:])) / 1000
    return result


async def cpu_of_awaiting(seconds):
    """Milliseconds of CPU in a second of awaiting: of all threads of rank 0."""
    comm.barrier()
    if comm.rank == 1:
        time.sleep(seconds)
        comm.barrier()
        return 0
    begin, begin_cpu = time.monotonic(), time.process_time()
    await comm.ibarrier()
    return 1000 * (time.process_time() - begin_cpu) / (time.monotonic() - begin)


def resident_kib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def threads():
    return len(os.listdir("/proc/self/task"))


async def groups():
    async def one():
        await comm.iallreduce(mine)

    before = threads()
    begin = time.monotonic()
    for _ in range(100):
        await asyncio.gather(*(one() for _ in range(100)))
    return {"us": 1e6 * (time.monotonic() - begin) / 10_000, "threads": threads() - before}


def many():
    """100,000 operations: how much the resident set grew after the first 10,000."""
    def some(count):
        for _ in range(count):
            comm.iallreduce(mine, total).wait()
            comm.iallreduce(mine).wait()

    some(5_000)
    before = resident_kib()
    some(45_000)
    return resident_kib() - before


async def awaiting(folder):
    return {"wake_up_us": await wake_ups(folder, 1000), "cpu_ms": await cpu_of_awaiting(3), "groups": await groups(),
            "grown_kib": many()}


measured = latency() if sys.argv[1] == "latency" else asyncio.run(awaiting(sys.argv[3]))
if comm.rank == 0:
    print(json.dumps(measured), flush=True)
comm.barrier()
