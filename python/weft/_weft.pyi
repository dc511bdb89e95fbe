from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from weft._objects import ObjectRequest


def set_error_factory(arg: object, /) -> None: ...

def sweep() -> int: ...

def leave() -> None: ...

def waiting_threads() -> int: ...

def status_name(arg: int, /) -> str: ...

class CompletionQueue:
    """
    Requests that have completed, for an event loop or a thread that waits in its own way.

    Watch `fileno()`, and call `dispatch()` when it is readable. Or call `wait()`.
    """

    def __init__(self) -> None: ...

    def fileno(self) -> int:
        """Return a descriptor that is readable while there are completions."""

    def dispatch(self) -> int:
        """Call the callbacks of all completions. Return their number."""

    def next(self) -> object:
        """Return the callback of the next completion, or None."""

    def wait(self, timeout: object | None = None) -> object:
        """
        Wait for a completion, and return its callback.

        Parameters
        ----------
        timeout : float, optional
            Seconds, after which `TimedOut` is raised.
        """

    def __len__(self) -> int:
        """Return how many marked requests have not completed."""

class Status:
    """
    What a receive has got: `request.status`, or filled by `comm.recv(..., status=status)`.
    """

    def __init__(self) -> None: ...

    @property
    def source(self) -> int:
        """The rank that sent it."""

    @property
    def tag(self) -> int:
        """Its tag."""

    @property
    def count(self) -> int:
        """Elements of the buffer that it was received into."""

    def Get_source(self) -> int:
        """As `source`."""

    def Get_tag(self) -> int:
        """As `tag`."""

    def __repr__(self) -> str: ...

class Request:
    """
    An operation: `wait`, `test` or `await` completes it.

    The operation owns its buffers until then. A persistent request (`allreduce_init`) can be started
    any number of times.
    """

    def test(self) -> bool:
        """
        Return whether the operation has completed.

        Raises
        ------
        Error
            The operation has failed. Its class says how.
        """

    def wait(self, timeout: object | None = None) -> object:
        """
        Wait until the operation has completed.

        Other threads run meanwhile. Ctrl-C raises KeyboardInterrupt, and the operation goes on.

        Parameters
        ----------
        timeout : float, optional
            Seconds, after which `TimedOut` is raised. The operation goes on, and can be waited for again.

        Returns
        -------
        object
            The buffer with the result; None if this rank gets none.

        Raises
        ------
        Error
            The operation has failed. Its class says how.
        """

    def start(self) -> None:
        """Start the operation of a persistent request."""

    def free(self) -> None:
        """Free a persistent request that is not active."""

    def mark(self, queue: object, callback: object) -> None:
        """Let `queue` call `callback()` once, when the operation has completed."""

    def unmark(self) -> None:
        """Take the mark away."""

    @property
    def result(self) -> object:
        """The buffer that gets the result, or None."""

    @property
    def status(self) -> Status | None:
        """Of a receive that has completed: from whom it came. Otherwise None."""

    @property
    def call(self) -> str:
        """The method that made the request."""

    @property
    def is_active(self) -> bool:
        """Whether it is started and not completed."""

    @property
    def is_persistent(self) -> bool:
        """Whether `start` can start it again."""

    def __await__(self) -> Generator[Any, None, Any]: ...

    def future(self, queue: CompletionQueue | None = None) -> Future[Any]: ...

    def add_done_callback(self, callback: Callable[[Request], object], queue: CompletionQueue | None = None) -> None: ...

class Op:
    """
    A reduction operation.

    Parameters
    ----------
    function : callable
        `function(a, b)` sets `b[...] = a op b`, element by element, for arrays of NumPy's that it must
        not keep. It must be associative, and runs in any thread. What it raises breaks the
        communicator.
    commute : bool, optional
        Whether the operands may be combined in any order.
    """

    def __init__(self, function: object, commute: bool = False) -> None: ...

    def __repr__(self) -> str: ...

SUM: Op = ...

PROD: Op = ...

MIN: Op = ...

MAX: Op = ...

LAND: Op = ...

LOR: Op = ...

LXOR: Op = ...

BAND: Op = ...

BOR: Op = ...

BXOR: Op = ...

MINLOC: Op = ...

MAXLOC: Op = ...

AVG: Op = ...

class Comm:
    """
    A group of ranks and the order of their operations.

    Methods have mpi4py's names and orders of arguments in lower case: `iallreduce(sendbuf, recvbuf)`
    starts, `allreduce` waits, `allreduce_init` makes a persistent request. All ranks make the same
    calls of collectives in the same order; messages between two ranks (`isend`, `irecv`) meet by their
    tags. Freed when nothing refers to it any more.
    """

    @property
    def rank(self) -> int:
        """This process's rank, 0 ... size - 1."""

    @property
    def size(self) -> int:
        """The number of ranks."""

    def Get_rank(self) -> int:
        """As `rank`."""

    def Get_size(self) -> int:
        """As `size`."""

    def dup(self, settings: str = '') -> object:
        """
        Make a communicator of the same ranks.

        Parameters
        ----------
        settings : str, optional
            Words such as "reproducible=1", "accumulate=float32", "wire=int8" or
            "bcast=chain:segment=64K"; see weft_comm_dup_with in weft/comm.h.
        """

    def wire_error(self) -> float:
        """
        Return by how much results on a communicator with "wire=int8" may be off, and begin anew.

        Returns
        -------
        float
            A bound on the error of each element of the results that this rank has got since the last such
            call, in the unit of the elements. Not finite: an operand or a sum was not finite, or its
            magnitude was 2**127 or more; the elements beside it are no numbers either. 0 with
            "wire=bfloat16": it tells nothing there, where each rounding keeps 8 significant bits.
        """

    def split(self, color: object | None = 0, key: int = 0) -> object:
        """
        Make a communicator of the ranks that give the same color.

        Parameters
        ----------
        color : int or None
            None: this rank gets no communicator, but None.
        key : int, optional
            The order of the ranks; those with equal keys stay in their order.
        """

    def split_node(self, key: int = 0) -> object:
        """Make a communicator of the ranks of this node."""

    def cart(self, dims: object, periods: object | None = None) -> object:
        """
        Make a communicator whose ranks form a grid, for the neighbor collectives.

        Parameters
        ----------
        dims : sequence of int
            Places in each dimension; the last varies fastest.
        periods : sequence of bool, optional
            Which dimensions are rings.
        """

    def graph(self, sources: object, destinations: object) -> object:
        """
        Make a communicator whose neighbor collectives follow a graph.

        Parameters
        ----------
        sources, destinations : sequence of int
            The ranks that this rank gets blocks from, and sends blocks to.
        """

    def neighbors(self) -> object:
        """Return the ranks (sources, destinations); -1: none."""

    def set_offload(self, offload: bool) -> None:
        """Set whether the operating system may move its messages."""

    def free(self) -> None:
        """Free it; operations that were started go on."""

    def abort(self, reason: str) -> None:
        """
        Call off everything that is pending on this communicator, on all its ranks.

        One rank alone may call it. Requests then raise `Aborted` on each rank, with this rank and the
        reason, and their buffers are the program's again. The communicator can only be freed; others, also
        those made from it, go on. Unlike MPI's, it ends no process.

        Parameters
        ----------
        reason : str
            Up to 55 bytes of it are sent.
        """

    def __repr__(self) -> str: ...

    def ibarrier(self) -> Request:
        """
        Start: Wait for all ranks.

        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ibcast(self, buf: object | None, root: int = 0) -> Request:
        """
        Start: Send the root's elements to all ranks.

        Parameters
        ----------
        buf : buffer
            Read on the root, written elsewhere.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def igather(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> Request:
        """
        Start: Gather a block of each rank at the root.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.
            Ignored except on the root.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def iscatter(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> Request:
        """
        Start: Send a block from the root to each rank.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
            Ignored except on the root.
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def iallgather(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Start: Gather a block of each rank at all ranks.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ialltoall(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Start: Send a block from each rank to each rank.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ireduce(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ..., root: int = 0) -> Request:
        """
        Start: Combine the elements of all ranks; the root gets the result.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
            Ignored except on the root.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def iallreduce(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> Request:
        """
        Start: Combine the elements of all ranks; all ranks get the result.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ireduce_scatter_block(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> Request:
        """
        Start: Combine the elements of all ranks; each rank gets an equal block of the result.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def iallgatherv(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Start: Gather blocks that may differ in size at all ranks.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ireduce_scatter(self, sendbuf: object | None, recvbuf: object | None = None, recvcounts: object | None = None, op: Op | str = ...) -> Request:
        """
        Start: Combine the elements of all ranks; each rank gets a block of the result.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        recvcounts : sequence of int
            The elements of each rank.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def iscan(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> Request:
        """
        Start: Combine the elements of ranks 0 ... rank.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def iexscan(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> Request:
        """
        Start: Combine the elements of ranks 0 ... rank - 1; rank 0 gets nothing.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def igatherv(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> Request:
        """
        Start: Gather blocks that may differ in size at the root.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.
            Ignored except on the root.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def iscatterv(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> Request:
        """
        Start: Send blocks that may differ in size from the root to each rank.

        Parameters
        ----------
        sendbuf : [buffer, counts] or [buffer, counts, displacements], or IN_PLACE
            Ignored except on the root.
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ialltoallv(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Start: Send blocks that may differ in size from each rank to each rank.

        Parameters
        ----------
        sendbuf : [buffer, counts] or [buffer, counts, displacements], or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ialltoallw(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Start: Send blocks that may differ in size and type from each rank to each rank.

        Parameters
        ----------
        sendbuf : [buffer, counts, displacements, types], displacements in bytes, or IN_PLACE
        recvbuf : [buffer, counts, displacements, types], displacements in bytes, optional


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ineighbor_allgather(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Start: Send one block to all neighbors.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ineighbor_allgatherv(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Start: Send one block to all neighbors; blocks may differ in size.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ineighbor_alltoall(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Start: Send a block to each neighbor.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ineighbor_alltoallv(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Start: Send a block to each neighbor; blocks may differ in size.

        Parameters
        ----------
        sendbuf : [buffer, counts] or [buffer, counts, displacements], or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def ineighbor_alltoallw(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Start: Send a block to each neighbor; blocks may differ in size and type.

        Parameters
        ----------
        sendbuf : [buffer, counts, displacements, types], displacements in bytes, or IN_PLACE
        recvbuf : [buffer, counts, displacements, types], displacements in bytes, optional


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def barrier(self) -> object:
        """
        Wait for all ranks.

        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def bcast(self, buf: object | None, root: int = 0) -> object:
        """
        Send the root's elements to all ranks.

        Parameters
        ----------
        buf : buffer
            Read on the root, written elsewhere.
        root : int, optional
            Default: 0.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def gather(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> object:
        """
        Gather a block of each rank at the root.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.
            Ignored except on the root.
        root : int, optional
            Default: 0.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def scatter(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> object:
        """
        Send a block from the root to each rank.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
            Ignored except on the root.
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        root : int, optional
            Default: 0.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def allgather(self, sendbuf: object | None, recvbuf: object | None = None) -> object:
        """
        Gather a block of each rank at all ranks.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def alltoall(self, sendbuf: object | None, recvbuf: object | None = None) -> object:
        """
        Send a block from each rank to each rank.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def reduce(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ..., root: int = 0) -> object:
        """
        Combine the elements of all ranks; the root gets the result.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
            Ignored except on the root.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.
        root : int, optional
            Default: 0.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def allreduce(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> object:
        """
        Combine the elements of all ranks; all ranks get the result.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def reduce_scatter_block(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> object:
        """
        Combine the elements of all ranks; each rank gets an equal block of the result.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def allgatherv(self, sendbuf: object | None, recvbuf: object | None = None) -> object:
        """
        Gather blocks that may differ in size at all ranks.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def reduce_scatter(self, sendbuf: object | None, recvbuf: object | None = None, recvcounts: object | None = None, op: Op | str = ...) -> object:
        """
        Combine the elements of all ranks; each rank gets a block of the result.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        recvcounts : sequence of int
            The elements of each rank.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def scan(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> object:
        """
        Combine the elements of ranks 0 ... rank.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def exscan(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> object:
        """
        Combine the elements of ranks 0 ... rank - 1; rank 0 gets nothing.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def gatherv(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> object:
        """
        Gather blocks that may differ in size at the root.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.
            Ignored except on the root.
        root : int, optional
            Default: 0.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def scatterv(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> object:
        """
        Send blocks that may differ in size from the root to each rank.

        Parameters
        ----------
        sendbuf : [buffer, counts] or [buffer, counts, displacements], or IN_PLACE
            Ignored except on the root.
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        root : int, optional
            Default: 0.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def alltoallv(self, sendbuf: object | None, recvbuf: object | None = None) -> object:
        """
        Send blocks that may differ in size from each rank to each rank.

        Parameters
        ----------
        sendbuf : [buffer, counts] or [buffer, counts, displacements], or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def alltoallw(self, sendbuf: object | None, recvbuf: object | None = None) -> object:
        """
        Send blocks that may differ in size and type from each rank to each rank.

        Parameters
        ----------
        sendbuf : [buffer, counts, displacements, types], displacements in bytes, or IN_PLACE
        recvbuf : [buffer, counts, displacements, types], displacements in bytes, optional


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def neighbor_allgather(self, sendbuf: object | None, recvbuf: object | None = None) -> object:
        """
        Send one block to all neighbors.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def neighbor_allgatherv(self, sendbuf: object | None, recvbuf: object | None = None) -> object:
        """
        Send one block to all neighbors; blocks may differ in size.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def neighbor_alltoall(self, sendbuf: object | None, recvbuf: object | None = None) -> object:
        """
        Send a block to each neighbor.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def neighbor_alltoallv(self, sendbuf: object | None, recvbuf: object | None = None) -> object:
        """
        Send a block to each neighbor; blocks may differ in size.

        Parameters
        ----------
        sendbuf : [buffer, counts] or [buffer, counts, displacements], or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def neighbor_alltoallw(self, sendbuf: object | None, recvbuf: object | None = None) -> object:
        """
        Send a block to each neighbor; blocks may differ in size and type.

        Parameters
        ----------
        sendbuf : [buffer, counts, displacements, types], displacements in bytes, or IN_PLACE
        recvbuf : [buffer, counts, displacements, types], displacements in bytes, optional


        Returns
        -------
        object
            The buffer with the result, or None.
        """

    def barrier_init(self) -> Request:
        """
        Make a persistent request: Wait for all ranks.

        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def bcast_init(self, buf: object | None, root: int = 0) -> Request:
        """
        Make a persistent request: Send the root's elements to all ranks.

        Parameters
        ----------
        buf : buffer
            Read on the root, written elsewhere.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def gather_init(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> Request:
        """
        Make a persistent request: Gather a block of each rank at the root.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.
            Ignored except on the root.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def scatter_init(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> Request:
        """
        Make a persistent request: Send a block from the root to each rank.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
            Ignored except on the root.
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def allgather_init(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Make a persistent request: Gather a block of each rank at all ranks.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def alltoall_init(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Make a persistent request: Send a block from each rank to each rank.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def reduce_init(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ..., root: int = 0) -> Request:
        """
        Make a persistent request: Combine the elements of all ranks; the root gets the result.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
            Ignored except on the root.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def allreduce_init(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> Request:
        """
        Make a persistent request: Combine the elements of all ranks; all ranks get the result.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def reduce_scatter_block_init(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> Request:
        """
        Make a persistent request: Combine the elements of all ranks; each rank gets an equal block of the result.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def allgatherv_init(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Make a persistent request: Gather blocks that may differ in size at all ranks.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def reduce_scatter_init(self, sendbuf: object | None, recvbuf: object | None = None, recvcounts: object | None = None, op: Op | str = ...) -> Request:
        """
        Make a persistent request: Combine the elements of all ranks; each rank gets a block of the result.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        recvcounts : sequence of int
            The elements of each rank.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def scan_init(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> Request:
        """
        Make a persistent request: Combine the elements of ranks 0 ... rank.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def exscan_init(self, sendbuf: object | None, recvbuf: object | None = None, op: Op | str = ...) -> Request:
        """
        Make a persistent request: Combine the elements of ranks 0 ... rank - 1; rank 0 gets nothing.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        op : Op or str, optional
            SUM ... MAXLOC, AVG, or such a name in lower case. Default: SUM.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def gatherv_init(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> Request:
        """
        Make a persistent request: Gather blocks that may differ in size at the root.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.
            Ignored except on the root.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def scatterv_init(self, sendbuf: object | None, recvbuf: object | None = None, root: int = 0) -> Request:
        """
        Make a persistent request: Send blocks that may differ in size from the root to each rank.

        Parameters
        ----------
        sendbuf : [buffer, counts] or [buffer, counts, displacements], or IN_PLACE
            Ignored except on the root.
        recvbuf : buffer, optional
            None: a new array of NumPy's.
        root : int, optional
            Default: 0.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def alltoallv_init(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Make a persistent request: Send blocks that may differ in size from each rank to each rank.

        Parameters
        ----------
        sendbuf : [buffer, counts] or [buffer, counts, displacements], or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def alltoallw_init(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Make a persistent request: Send blocks that may differ in size and type from each rank to each rank.

        Parameters
        ----------
        sendbuf : [buffer, counts, displacements, types], displacements in bytes, or IN_PLACE
        recvbuf : [buffer, counts, displacements, types], displacements in bytes, optional


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def neighbor_allgather_init(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Make a persistent request: Send one block to all neighbors.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def neighbor_allgatherv_init(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Make a persistent request: Send one block to all neighbors; blocks may differ in size.

        Parameters
        ----------
        sendbuf : buffer, or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def neighbor_alltoall_init(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Make a persistent request: Send a block to each neighbor.

        Parameters
        ----------
        sendbuf : buffer with a block for each rank or neighbor, or IN_PLACE
        recvbuf : buffer with a block for each rank or neighbor, optional
            None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def neighbor_alltoallv_init(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Make a persistent request: Send a block to each neighbor; blocks may differ in size.

        Parameters
        ----------
        sendbuf : [buffer, counts] or [buffer, counts, displacements], or IN_PLACE
        recvbuf : [buffer, counts] or [buffer, counts, displacements], optional
            A buffer of None: a new array of NumPy's.


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def neighbor_alltoallw_init(self, sendbuf: object | None, recvbuf: object | None = None) -> Request:
        """
        Make a persistent request: Send a block to each neighbor; blocks may differ in size and type.

        Parameters
        ----------
        sendbuf : [buffer, counts, displacements, types], displacements in bytes, or IN_PLACE
        recvbuf : [buffer, counts, displacements, types], displacements in bytes, optional


        Returns
        -------
        Request
            It owns the buffers until it has completed.
        """

    def isend(self, buf: object | None, dest: int, tag: int = 0) -> Request:
        """
        Start sending the elements of a buffer to a rank.

        The k-th send to a rank with a tag meets its k-th receive with this tag, which must have as many
        bytes. Different tags do not wait for each other, nor for collectives. A small message may complete
        before it is received.

        Parameters
        ----------
        buf : buffer
            Elements of any type and shape; not to be written before the request has completed.
        dest : int
            A rank, 0 ... size - 1; also this one.
        tag : int, optional
            0 ... 8388607. Default: 0.

        Returns
        -------
        Request
            It owns the buffer until it has completed; its result is None.

        Raises
        ------
        ArgumentError
            The buffer, rank or tag; nothing has been started.
        MessageMismatch
            From `wait`: the receive had another size.
        """

    def send(self, buf: object | None, dest: int, tag: int = 0) -> None:
        """
        Send the elements of a buffer to a rank, and wait until the buffer may be written again.

        That may be before they are received, or not. Parameters and failures are those of `isend`.
        """

    def send_init(self, buf: object | None, dest: int, tag: int = 0) -> Request:
        """
        Make a persistent request of a send: each `start` sends what the buffer has then.

        The receives may be persistent or not. Parameters and failures are those of `isend`.

        Returns
        -------
        Request
            It owns the buffer.
        """

    def irecv(self, buf: object | None, source: int = ANY_SOURCE, tag: int = 0) -> Request:
        """
        Start receiving the elements of a buffer from a rank.

        Parameters
        ----------
        buf : buffer
            Elements of any type and shape, as many bytes as are sent (types are not compared); not to be
            touched before the request has completed.
        source : int, optional
            A rank, 0 ... size - 1, also this one; or ANY_SOURCE, the default: whichever has a message with
            this tag. It takes longer, and later receives of the tag wait until it has met a message.
        tag : int, optional
            0 ... 8388607. Default: 0. There is no receive of any tag.

        Returns
        -------
        Request
            It owns the buffer until it has completed; its result is the buffer, its `status` says from
            whom it came.

        Raises
        ------
        ArgumentError
            The buffer, rank or tag; nothing has been started.
        MessageMismatch
            From `wait`: the message had another size.
        RankLost
            From `wait`: the source has left, or all other ranks have.
        """

    def recv(self, buf: object | None, source: int = ANY_SOURCE, tag: int = 0, status: Status | None = None) -> object:
        """
        Receive the elements of a buffer from a rank.

        Parameters and failures are those of `irecv`.

        Parameters
        ----------
        status : Status, optional
            Gets the source, the tag and the number of elements.

        Returns
        -------
        object
            The buffer.
        """

    def recv_init(self, buf: object | None, source: int = ANY_SOURCE, tag: int = 0) -> Request:
        """
        Make a persistent request of a receive.

        The sends may be persistent or not. Parameters and failures are those of `irecv`.

        Returns
        -------
        Request
            It owns the buffer. Its `status` is that of the last message.
        """

    def ibcast_object(self, obj: object, root: int = 0) -> ObjectRequest: ...

    def iallgather_object(self, obj: object) -> ObjectRequest: ...

    def igather_object(self, obj: object, root: int = 0) -> ObjectRequest: ...

    def bcast_object(self, obj: object, root: int = 0) -> Any: ...

    def allgather_object(self, obj: object) -> list[Any]: ...

    def gather_object(self, obj: object, root: int = 0) -> Any: ...

class InPlace:
    """The type of IN_PLACE."""

    def __repr__(self) -> str: ...

IN_PLACE: InPlace = ...

ANY_SOURCE: int = -2

def init() -> None: ...

def finalize() -> None: ...

def is_initialized() -> bool: ...

def comm_world() -> Comm: ...

def comm_self() -> Comm: ...

def from_oob(rank: int, size: int, allgather: object) -> object: ...

def statistics() -> dict: ...

def set_engine(arg: int, /) -> None: ...

def get_engine() -> int: ...

class Region:
    """
    A piece of a buffer: `SENDBUF[0:8]`, `RECVBUF[8:16]` or `schedule.scratch(64)[0:8]`, in bytes.
    """

    def __getitem__(self, arg: slice, /) -> Region: ...

    @property
    def bytes(self) -> int: ...

SENDBUF: Region = ...

RECVBUF: Region = ...

class Node:
    """An operation of a schedule."""

class Schedule:
    """
    This rank's part in a communication that the program designs: a graph of operations.

    Each operation starts when those named by `after` (a Node or a sequence) have completed. Messages
    between two ranks match in the order in which the two schedules have them. `seal` ends building,
    `check` proves that the schedules of all ranks fit together, `init` makes a persistent request.
    """

    def __init__(self, comm: Comm) -> None: ...

    def scratch(self, bytes: int) -> Region:
        """Take a region of its own memory."""

    def send(self, region: Region, peer: int, after: object | None = None) -> Node:
        """Send a region to a rank."""

    def recv(self, region: Region, peer: int, after: object | None = None) -> Node:
        """Receive a region from a rank."""

    def copy(self, source: Region, target: Region, after: object | None = None) -> Node:
        """target = source"""

    def reduce(self, source: Region, target: Region, after: object | None = None) -> Node:
        """target = source op target"""

    def reduce_right(self, source: Region, target: Region, after: object | None = None) -> Node:
        """target = target op source; the source is undefined then."""

    def join(self, after: object) -> Node:
        """Complete when all of `after` have."""

    def call(self, function: object, region: object | None = None, after: object | None = None) -> Node:
        """
        Call `function(memory)` with a memoryview of the region, in any thread. It must not keep the memory
        or call Weft; what it raises breaks the communicator.
        """

    @property
    def comm(self) -> Comm:
        """The communicator that it is for."""

    @property
    def operations(self) -> list[tuple[str, int, list[tuple[int, int, int]], list[int]]]:
        """
        The operations in the order in which they were added: a list of (kind, peer or -1, regions, after).

        A region is (buffer, offset, bytes); the buffer is 0 for SENDBUF, 1 for RECVBUF, 2 for scratch
        memory. `after` has the places of predecessors in this list.
        """

    def seal(self) -> None:
        """End building."""

    def check(self) -> None:
        """
        Prove that the schedules of all ranks fit together, or raise. All ranks call it.
        """

    def init(self, sendbuf: object | None = None, recvbuf: object | None = None, op: object | None = None) -> Request:
        """
        Make a persistent request. All ranks call it.

        Parameters
        ----------
        sendbuf, recvbuf : buffer, optional
            The memory of SENDBUF and RECVBUF.
        op : Op or str, optional
            The operation of all reductions.
        """

    def simulate(self, *options: str) -> dict[str, Any]: ...
