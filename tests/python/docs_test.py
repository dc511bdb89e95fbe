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
    """Processes that nothing has started as a job find each other by files."""
    program = tmp_path / "program.py"
    program.write_text("""
import os, sys, time
from array import array
import weft

folder, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

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

comm = weft.from_store(get, set, rank, size)
total = comm.allreduce(array("q", [rank + 1]), array("q", [0]))
assert (comm.rank, comm.size, total[0]) == (rank, size, 3)
try:
    weft.from_store(lambda key: 1 / 0, set, rank, size)
except ZeroDivisionError:
    print("done")
""")
    ranks = " & ".join("%s %s %s %d 2" % (sys.executable, program, tmp_path, rank) for rank in range(2))
    done = run(["sh", "-c", ranks + "; status=$?; wait $!; exit $status"])
    assert done.stdout == "done\ndone\n", done.stderr


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
