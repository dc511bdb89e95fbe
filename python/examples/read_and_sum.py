"""Reads the next block of a file while the last one is summed over all ranks: python -m weft run -n 2 read_and_sum.py

Two buffers take turns: one is read into, one belongs to the sum that is on its way."""

import asyncio
import sys
import tempfile

import numpy
import weft

BLOCKS, BLOCK = 8, 1 << 18


def make_file(rank):
    file = tempfile.TemporaryFile()
    numpy.arange(BLOCKS * BLOCK, dtype="float32").tofile(file)
    file.seek(0)
    return file


def read_block(file, buffer):
    if file.readinto(memoryview(buffer).cast("B")) != buffer.nbytes:
        sys.exit("the file is too short")


async def main():
    comm = weft.init()
    loop = asyncio.get_running_loop()
    file = make_file(comm.rank)
    buffers = [numpy.empty(BLOCK, "float32") for _ in range(2)]
    result = numpy.empty(BLOCK, "float32")
    total = 0.0

    await loop.run_in_executor(None, read_block, file, buffers[0])
    for number in range(1, BLOCKS + 1):
        request = comm.iallreduce(buffers[(number - 1) % 2], result)
        if number < BLOCKS:  # the file's thread reads, Weft's thread sums, and this one serves both
            await loop.run_in_executor(None, read_block, file, buffers[number % 2])
        total += float((await request)[0])
    print("rank %d: %g" % (comm.rank, total))


asyncio.run(main())
