"""The programs of docs/python.md and python/examples run; every collective of the library is a method."""

import ast
import asyncio
import inspect
import json
import os
import re
import sys

import pytest
import weft

from support import HERE, ROOT, run


def test_the_page_and_examples():
    done = run([sys.executable, "-m", "weft", "run", "-n", "3", os.path.join(HERE, "docs_program.py"), "sum.py",
                "read_and_sum.py"])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    lines = done.stdout.splitlines()
    blocks, block = 8, 1 << 18
    read = "%g" % (3.0 * sum(number * block for number in range(blocks)))
    for rank in range(3):
        assert "rank %d of 3: 3" % rank in lines and "rank %d: %s" % (rank, read) in lines, lines


def test_every_collective_is_a_method():
    with open(os.path.join(ROOT, "src", "algorithm", "collectives.def")) as file:
        names = re.findall(r"^(?:NEIGHBOR_)?COLLECTIVE\((\w+),", file.read(), re.MULTILINE)
    assert len(names) >= 22
    for name in names:
        for form in ("i%s", "%s", "%s_init"):
            assert hasattr(weft.Comm, form % name), "python/src/collectives.def lacks " + name


def test_a_store_of_keys_and_values(tmp_path):
    """Processes that nothing has started as a job find each other by files: first two, then others of them."""
    program = tmp_path / "program.py"
    program.write_text("""
import os, sys, time
from array import array
import weft

folder, process = sys.argv[1], int(sys.argv[2])

def set(key, value):
    path = os.path.join(folder, key.replace("/", "_"))
    with open(path + ".part", "wb") as file:
        file.write(value)
    os.rename(path + ".part", path)

def get(key):
    path = os.path.join(folder, key.replace("/", "_"))
    end = time.monotonic() + 30
    while not os.path.exists(path):
        assert time.monotonic() < end, key
        time.sleep(0.005)
    with open(path, "rb") as file:
        return file.read()

# The first is the job of processes 0 and 1; process 2 is a job of its own.
groups = {}
for name, members in {"front": [0, 1], "back": [1, 2], "all": [2, 0, 1]}.items():
    if process in members:
        comm = groups[name] = weft.from_store(get, set, members.index(process), len(members), prefix=name)
        total = comm.allreduce(array("q", [process]), array("q", [0]))
        assert (comm.rank, comm.size, total[0]) == (members.index(process), len(members), sum(members))

comm = groups["all"]
got = bytearray(1)
request = comm.irecv(got, (comm.rank - 1) % 3)
comm.send(bytes([comm.rank]), (comm.rank + 1) % 3)
request.wait(30)
assert (got[0], request.status.source) == ((comm.rank - 1) % 3,) * 2

# Process 2 aborts when all have begun to receive.
request = comm.irecv(got, weft.ANY_SOURCE, tag=1)
for name in ("front", "back"):
    if name in groups:
        groups[name].barrier()
if process == 2:
    comm.abort("enough")
try:
    request.wait(30)
    assert False, "not aborted"
except weft.Aborted as error:
    assert error.rank == 0 and "enough" in str(error), error
for name in ("back", "front"):
    if name in groups:
        groups[name].barrier()
try:
    weft.from_store(lambda key: 1 / 0, set, process, 3, prefix="fails")
except ZeroDivisionError:
    print("done")
""")
    start = "%s %s %s " % (sys.executable, program, tmp_path)
    done = run(["sh", "-c", "%s 0 & %s 1 & %s 2; status=$?; wait; exit $status" % (start, start, start)])
    assert done.stdout == "done\n" * 3, done.stderr


def test_the_notebook():
    with open(os.path.join(ROOT, "python", "examples", "weft.ipynb")) as file:
        cells = json.load(file)["cells"]
    names = {}

    async def run_cells():  # as a notebook does, in one event loop
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "code":
                code = compile("".join(cell["source"]), "cell %d" % number, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                result = eval(code, names)
                if inspect.iscoroutine(result):
                    await result

    asyncio.run(run_cells())
    assert list(names["average"]) == [0, 1, 2]
    assert names["schedule"]._repr_svg_().startswith("<svg")
    assert list(names["request"].wait()) == [0, 1, 2]


def test_the_stubs_are_up_to_date(tmp_path):
    pytest.importorskip("nanobind")
    made = tmp_path / "_weft.pyi"
    done = run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "weft._weft", "-p",
                os.path.join(ROOT, "python", "stubs.txt"), "-o", str(made)])
    assert done.returncode == 0, done.stderr
    stubs = os.path.join(ROOT, "python", "weft", "_weft.pyi")
    with open(stubs) as file:
        assert file.read() == made.read_text(), "%s is not what this makes: %s" % (stubs, " ".join(done.args))
