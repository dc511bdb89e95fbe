"""Jobs of ranks that use torch.distributed, for the tests of this folder."""

import os
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Rank:
    """What a rank has printed, and how it has ended."""

    def __init__(self, process):
        self.process = process
        self.output = self.errors = ""

    @property
    def status(self):
        return self.process.returncode

    def __str__(self):
        return "status %s\n%s%s" % (self.status, self.output, self.errors)


def start(ranks, program, *arguments, **settings):
    """Starts a program of this folder once for each rank."""
    port = free_port()
    processes = []
    for rank in range(ranks):
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=str(port), OMP_NUM_THREADS="1", **settings)
        processes.append(subprocess.Popen([sys.executable, "-B", os.path.join(HERE, program)] + list(arguments),
                                          env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True))
    return [Rank(process) for process in processes]


def end(ranks, timeout=400):
    """Waits for all ranks. Kills those that do not end, which is a failure."""
    deadline = time.monotonic() + timeout
    late = []
    for number, rank in enumerate(ranks):
        try:
            rank.output, rank.errors = rank.process.communicate(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            late.append(number)
            rank.process.send_signal(signal.SIGKILL)
            rank.output, rank.errors = rank.process.communicate()
    assert not late, "ranks %s did not end within %d s\n%s" % (late, timeout, "\n".join(map(str, ranks)))
    return ranks


def job(ranks, program, *arguments, timeout=400, **settings):
    """Runs a program with several ranks, which must succeed; returns their output."""
    ended = end(start(ranks, program, *arguments, **settings), timeout)
    assert all(rank.status == 0 for rank in ended), "\n".join("rank %d: %s" % named for named in enumerate(ended))
    return [rank.output for rank in ended]
