"""Jobs of ranks in Python, for the tests of this folder."""

import os
import subprocess
import sys

import weft

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def runs_all():
    return bool(os.environ.get("WEFT_TEST_ALL"))


def command_of(ranks, program, *arguments):
    return [weft.program(), "run", "-n", str(ranks), sys.executable, os.path.join(HERE, program)] + list(arguments)


def run(command, timeout=60, **settings):
    return subprocess.run(command, env=dict(os.environ, PYTHONUNBUFFERED="", **settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True, timeout=timeout)


def job(ranks, program, *arguments, **settings):
    """Runs a program with several ranks, which must succeed; returns its lines, sorted."""
    done = run(command_of(ranks, program, *arguments), **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "", done.stderr
    return sorted(done.stdout.splitlines())
