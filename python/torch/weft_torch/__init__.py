"""Weft as a back end of torch.distributed, for tensors in the host's memory.

>>> import torch.distributed as dist
>>> dist.init_process_group("weft")  # or "cpu:weft,cuda:nccl"; nothing to import

torch finds `register` by the entry point of this package. The back end in C++ is compiled when the first
group is made, unless the package has one for this torch and this Python.
"""

import atexit
import os
import warnings

import torch.distributed as dist

from ._options import Options, settings_of

__version__ = "0.1.0"
__all__ = ["Options", "backend_kind", "register", "statistics"]

KINDS = ("auto", "native", "python")
CHOICE = "TORCH_WEFT_BACKEND"
EXIT_SECONDS = 1.0  # for operations that were dropped

chosen = None  # the module with create(), leave() and statistics(); None: not yet


def register():
    """Make "weft" known to torch.distributed. Its entry point calls this; further calls do nothing."""
    if "WEFT" not in dist.Backend._plugins:
        dist.Backend.register_backend("weft", create, extended_api=True, devices=["cpu"])


def implementation():
    """The module that makes groups: in C++, or in Python if it cannot be compiled here."""
    global chosen
    if chosen is None:
        kind = os.environ.get(CHOICE, "auto")
        if kind not in KINDS:
            raise ValueError("%s=%s; expected one of %s" % (CHOICE, kind, ", ".join(KINDS)))
        chosen = load(kind)
        leave_at_exit(chosen)
    return chosen


def load(kind):
    if kind != "python":
        from . import _build

        try:
            return _build.native()
        except _build.CannotBuild as error:
            if kind == "native":
                raise
            warnings.warn("weft: the back end in Python is used, which is slower: %s" % error)
    from . import _fallback

    return _fallback


def leave_at_exit(module):
    """Leaves the job when the interpreter ends, so that other ranks do not take this one for dead."""
    process = os.getpid()

    def leave():
        if os.getpid() == process:  # not in a forked child
            module.leave(EXIT_SECONDS)

    atexit.register(leave)


def create(group, options):
    """What torch calls to make a group: with torch's DistributedBackendOptions, and `pg_options`."""
    return implementation().create(group.store, group.group_rank, group.group_size, group.timeout, settings_of(options),
                                   str(group.group_id), [int(rank) for rank in group.global_ranks_in_group])


def backend_kind():
    """Return "native" or "python": which back end this process uses. It is loaded if it was not."""
    return "python" if implementation().__name__.endswith("._fallback") else "native"


def statistics():
    """Count what this process has done since its first group, and what it holds.

    Returns
    -------
    dict
        "operations", of these "offloaded" to the operating system, "unexpected_messages", "connections",
        "descriptors" and "memory_bytes" of the transports: as weft_get_statistics in weft/comm.h.
    """
    return dict(implementation().statistics())


register()  # torch 2.13 looks for no entry points: there a program imports this package
