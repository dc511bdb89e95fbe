"""Ways to wait, and failures: two ranks, of which one comes late."""

import sys

import pytest
import weft

from support import command_of, job, run

# Several in one job: most of a job's time is Python's start.
THREADS = "wait_with_timeout,persistent,threads,interrupt,garbage,forked,aborted"
LOOPS = "awaits,many_awaits,await_timeout,completed,completed_async,futures,objects,messages"


@pytest.mark.parametrize("what, transport", [(THREADS, "shm"), (LOOPS, "shm"), (THREADS, "tcp"), (LOOPS, "tcp"),
                                             ("exception_in_operation", "shm")])
def test_it_works(what, transport, tmp_path):
    assert job(2, "waiting_program.py", what, FLAG_FOLDER=str(tmp_path), WEFT_TRANSPORT=transport) == ["done"] * 2


def test_it_works_in_other_loops(tmp_path):
    pytest.importorskip("trio")
    pytest.importorskip("anyio")
    assert job(2, "waiting_program.py", "awaits,completed_async", "trio,anyio", FLAG_FOLDER=str(tmp_path)) == ["done"] * 2


def test_weft_timeout_ends_a_blocking_call(tmp_path):
    assert job(2, "waiting_program.py", "blocking_timeout", FLAG_FOLDER=str(tmp_path), WEFT_TIMEOUT="1") == ["done"] * 2


def test_calls_that_do_not_match(tmp_path):
    assert job(2, "waiting_program.py", "mismatch", FLAG_FOLDER=str(tmp_path), WEFT_CHECK="1") == ["done"] * 2


def test_a_killed_rank_is_named(tmp_path):
    done = run(command_of(2, "waiting_program.py", "killed"), FLAG_FOLDER=str(tmp_path))
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode != 0 and "rank 1" in done.stderr, done.stderr


def test_a_process_ends_with_operations_that_nobody_waits_for(tmp_path):
    done = run(command_of(2, "waiting_program.py", "exit_with_operations"), FLAG_FOLDER=str(tmp_path))
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stderr.startswith("weft: 2 operations are pending"), done.stderr


def test_an_engine_without_a_descriptor_is_refused(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import asyncio, numpy, weft
comm = weft.init()
async def body():
    await comm.dup().iallreduce(numpy.ones(1))
try:
    asyncio.run(body())
except weft.Unsupported as error:
    assert "manual" in str(error)
else:
    assert comm.size == 1  # had completed at once
""")
    done = run([weft.program(), "run", "-n", "1", sys.executable, str(program)], WEFT_ENGINE="manual")
    assert done.returncode == 0, done.stderr
