"""Weft: nonblocking collective operations that run in the background.

>>> import numpy, weft
>>> comm = weft.init()
>>> request = comm.iallreduce(numpy.arange(3.0))
>>> request.wait()  # or, in a coroutine: await request
array([0., 1., 2.])
"""

from ._weft import (ANY_SOURCE, AVG, BAND, BOR, BXOR, IN_PLACE, LAND, LOR, LXOR, MAX, MAXLOC, MIN, MINLOC, PROD, RECVBUF,
                    SENDBUF, SUM, Comm, CompletionQueue, Node, Op, Region, Request, Schedule, Status)
from ._errors import (Aborted, ArgumentError, Broken, Error, FunctionFailed, HandleError, MessageMismatch, OutOfMemory,
                      Outstanding, RankLost, Refused, SettingError, StateError, TimedOut, TransportFailed, Unsupported)
from ._start import (comm_self, comm_world, engine, finalize, from_mpi4py, from_store, init, is_initialized,
                     libraries, program, set_engine, statistics)
from ._schedules import draw, simulate
from ._waiting import as_completed
from . import _objects, _schedules, _waiting

__version__ = "0.1.0"

Request.__await__ = _waiting.awaited
Request.future = _waiting.future
Request.add_done_callback = _waiting.add_done_callback
Schedule.simulate = _schedules.simulate_own
Schedule._repr_svg_ = _schedules.svg_of
Comm.ibcast_object = _objects.ibcast_object
Comm.iallgather_object = _objects.iallgather_object
Comm.igather_object = _objects.igather_object
Comm.bcast_object = _objects.bcast_object
Comm.allgather_object = _objects.allgather_object
Comm.gather_object = _objects.gather_object

__all__ = [name for name in dir() if not name.startswith("_")]
