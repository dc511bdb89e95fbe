"""Failures as exceptions, by their class."""

import re

from . import _weft


class Error(RuntimeError):
    """A failure of Weft's.

    Attributes
    ----------
    status : str
        The name of Weft's status, such as "WEFT_BROKEN_RANK".
    rank : int or None
        The rank that the sentence names: the one that is lost, late or differs.
    call : str or None
        The method that failed, or that made the request.
    """

    def __init__(self, sentence, status="", call=None):
        super().__init__(sentence)
        self.status = status
        self.call = call
        # Who is to blame; the sentence may begin with another rank's message: "receive from rank 1 with tag 0 on ...".
        named = re.search(r"\brank (\d+) of the\b", sentence) or re.search(r"\brank (\d+)", sentence)
        self.rank = int(named.group(1)) if named else None

    def __reduce__(self):
        return type(self), (str(self), self.status, self.call)


class Refused(Error):
    """The caller's mistake: nothing has happened."""


class ArgumentError(Refused, ValueError):
    """An argument is out of range."""


class HandleError(Refused):
    """A communicator, request or operation was freed, or is not one."""


class StateError(Refused):
    """Not now: before init, after finalize, in a forked child, ..."""


class Outstanding(Refused):
    """Operations are still pending."""


class SettingError(Refused):
    """A setting (WEFT_...) is malformed or differs between ranks."""


class OutOfMemory(Refused, MemoryError):
    """Out of memory or descriptors."""


class Unsupported(Refused, NotImplementedError):
    """This build or machine cannot do it."""


class Broken(Error):
    """The communicator has failed on all its ranks, and can only be freed."""


class RankLost(Broken):
    """A rank died or left."""


class MessageMismatch(Broken):
    """Ranks made calls that do not match."""


class TransportFailed(Broken):
    """A rank can no longer be reached."""


class FunctionFailed(Broken):
    """A function of the program raised an exception."""


class Aborted(Broken):
    """A rank has called off what was pending (`Comm.abort`); the sentence has its reason."""


class TimedOut(Error, TimeoutError):
    """A wait's time has passed; the operation goes on. The sentence names late ranks."""


CLASSES = {
    4: TimedOut,
    -1: ArgumentError,
    -2: HandleError,
    -3: StateError,
    -4: Outstanding,
    -5: SettingError,
    -6: OutOfMemory,
    -7: Unsupported,
    -100: RankLost,
    -101: MessageMismatch,
    -102: TransportFailed,
    -105: FunctionFailed,
    -106: Aborted,
}


def make(status, sentence, call):
    name = _weft.status_name(status)
    kind = CLASSES.get(status, Broken if status <= -100 else Error)
    return kind(sentence or name, name, call)


_weft.set_error_factory(make)
