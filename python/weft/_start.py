"""Joining a job and leaving it; the program `weft` and the library."""

import atexit
import collections
import itertools
import os
import sys
import time

from . import _weft
from ._errors import ArgumentError, Error
from ._waiting import stop_thread

FOLDER = os.path.dirname(os.path.abspath(__file__))
ENGINES = {"manual": 0, "thread": 1, "kernel": 3, "kernel:own": 4, "auto": 5, "fiber": 6}
uses_of_stores = collections.Counter()  # by prefix
joined_here = False  # not by another user of the library in this process, such as `weft preload`

predefined = {}  # communicators, one object for each

is_initialized = _weft.is_initialized


def comm_world():
    """Return the communicator of all ranks of the job."""
    if "world" not in predefined:
        predefined["world"] = _weft.comm_world()
    return predefined["world"]


def comm_self():
    """Return the communicator of this process alone."""
    if "self" not in predefined:
        predefined["self"] = _weft.comm_self()
    return predefined["self"]


def init():
    """Join the job, unless the process has joined it, and return the communicator of all ranks.

    The launcher is `python -m weft run`, or one with PMIx or PMI (mpiexec, mpirun, srun), or
    torchrun, an indexed job of Kubernetes, srun, or what sets WEFT_STARTUP. Without a launcher the
    process is a job of one rank.

    Returns
    -------
    Comm
    """
    if not is_initialized():
        _weft.init()
        note_joined()
    return comm_world()


def note_joined():
    global joined_here
    joined_here = True


def finalize():
    """Leave the job. Not needed: the end of the interpreter does it."""
    stop_thread()
    _weft.sweep()
    _weft.finalize()
    predefined.clear()


@atexit.register
def leave():
    """Leaves the job. Dropped requests get a second; what somebody has not waited for ends with the process."""
    if not joined_here or not is_initialized():  # (as in a forked child)
        return
    _weft.leave()
    end = time.monotonic() + 1
    while (_weft.sweep() or _weft.waiting_threads()) and time.monotonic() < end:
        time.sleep(0.001)
    if _weft.waiting_threads():
        return print("weft: the process ends while a thread waits for an operation", file=sys.stderr)
    try:
        finalize()
    except Error as error:
        print("weft: %s" % error, file=sys.stderr)


def from_oob(rank, size, allgather):
    was_joined = is_initialized()
    comm = _weft.from_oob(rank, size, allgather)
    if not was_joined:
        note_joined()
    return comm


def from_mpi4py(comm):
    """Make a communicator of the processes of one of mpi4py's, with their ranks there.

    Weft uses `comm` only during this call, to exchange addresses. All its processes make the call. A process may be in any
    number of such groups, made in any order; the first one is its job, unless it has joined one.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm

    Returns
    -------
    Comm
    """
    return from_oob(comm.Get_rank(), comm.Get_size(), lambda mine: b"".join(comm.allgather(mine)))


def from_store(get, set, rank, size, prefix="weft"):
    """Make a communicator of processes that share a store of keys and values.

    All processes make the call. A process may be in any number of such groups, each with a prefix of its own, made in any
    order; the first one is its job, unless it has joined one.

    Parameters
    ----------
    get : callable
        `get(key)` waits until there is a value, and returns it: bytes.
    set : callable
        `set(key, value)`.
    rank, size : int
        This process's rank, and the number of processes.
    prefix : str, optional
        Of the keys. Calls with the same one are made by the same processes, in the same order.

    Returns
    -------
    Comm
    """
    number = uses_of_stores[prefix]
    uses_of_stores[prefix] += 1
    exchanges = itertools.count()

    def allgather(mine):
        key = "%s/%d/%d/" % (prefix, number, next(exchanges))
        set(key + str(rank), mine)
        return b"".join(bytes(get(key + str(other))) for other in range(size))

    return from_oob(rank, size, allgather)


def engine():
    """Return the name of the progress engine."""
    number = _weft.get_engine()
    return next(name for name, its in ENGINES.items() if its == number)


def set_engine(name):
    """Choose the progress engine: "auto", "thread", "kernel", "kernel:own", "manual" or "fiber"."""
    if name not in ENGINES:
        raise ArgumentError("engine = %r; expected one of %s" % (name, ", ".join(ENGINES)), "WEFT_REFUSED_ARGUMENT",
                            "set_engine")
    _weft.set_engine(ENGINES[name])


def statistics():
    """Count what this process has done since it joined the job, and what it holds.

    Returns
    -------
    dict
        "engine", and the numbers of weft_get_statistics in weft/comm.h: "operations", of these "offloaded" to the
        operating system, "unexpected_messages", "connections", "descriptors" and "memory_bytes" of the transports.
    """
    return dict(_weft.statistics(), engine=engine())


def program():
    """Return the path of the program `weft` of this package."""
    return os.path.join(FOLDER, "bin", "weft")


def libraries():
    """Return where programs in C find this package's library.

    Returns
    -------
    dict
        "library": libweft.so.0; "include": the folder of the headers; "cmake": the folder for
        CMAKE_PREFIX_PATH.
    """
    return {"library": os.path.join(FOLDER, "lib", "libweft.so.0"), "include": os.path.join(FOLDER, "include"),
            "cmake": FOLDER}
