"""Collectives of Python objects, nonblocking: first the sizes of what pickle makes of them, then the bytes.

The ranks of a communicator must start the second parts in one order, though they wait for the requests in any. So each
communicator has a line of operations whose sizes are not known yet, and two duplicates, for sizes and for bytes.
"""

import array
import collections
import pickle
import struct
import time
import weakref

from ._waiting import completion_of, queue_here

ALIGNMENT = 64  # of the buffers that pickle leaves out, such as arrays
lines = weakref.WeakKeyDictionary()  # of communicators


def pack(value):
    """The bytes of an object: the lengths of all parts, pickle's stream, and the buffers that it leaves out."""
    buffers = []
    parts = [pickle.dumps(value, protocol=5, buffer_callback=buffers.append)]
    parts += [buffer.raw() for buffer in buffers]
    result = bytearray(struct.pack("=%dQ" % (1 + len(parts)), len(parts), *(len(part) for part in parts)))
    for part in parts:
        result += bytes(-len(result) % ALIGNMENT)
        result += part
    result += bytes(-len(result) % ALIGNMENT)  # for the next rank in an allgather
    return result


def unpack(data):
    view = memoryview(data)
    count, = struct.unpack_from("=Q", view)
    lengths = struct.unpack_from("=%dQ" % count, view, 8)
    parts, at = [], 8 + 8 * count
    for length in lengths:
        at += -at % ALIGNMENT
        parts.append(view[at:at + length])
        at += length
    return pickle.loads(parts[0], buffers=parts[1:])


class Line:
    """What a communicator has for its object collectives."""

    def __init__(self, comm):
        self.of_sizes = comm.dup()
        self.of_bytes = comm.dup()
        self.waiting = collections.deque()  # operations whose bytes have not been started

    def advance(self):
        """Starts the bytes of the operations whose sizes are known, in order."""
        while self.waiting and self.waiting[0].has_sizes():
            self.waiting.popleft().start_bytes()


def line_of(comm):
    line = lines.get(comm)
    if line is None:
        line = lines[comm] = Line(comm)
    return line


class ObjectRequest:
    """A collective of objects: `wait`, `test` or `await` completes it and gives the result."""

    def __init__(self, line, sizes, start_bytes, finish):
        self._line = line
        self._sizes = sizes
        self._start = start_bytes
        self._finish = finish
        self._event = None  # set when the sizes are known; of tasks that wait for them
        self._bytes = None
        self._failure = None
        self._outcome = None
        line.waiting.append(self)

    def has_sizes(self):
        if self._event is not None and not self._event.is_set():
            return False
        try:
            return self._sizes.test()
        except Exception as error:
            self._failure = error
            return True

    def start_bytes(self):
        if self._failure is None:
            try:
                self._bytes = self._start()
            except Exception as error:
                self._failure = error

    def _is_in_line(self):
        return self._bytes is None and self._failure is None

    def _result(self):
        if self._failure is not None:
            raise self._failure
        if self._outcome is None:
            self._outcome = (self._finish(),)
        return self._outcome[0]

    def test(self):
        """Return whether it has completed; raise its failure."""
        self._line.advance()
        if self._is_in_line() or (self._bytes is not None and not self._bytes.test()):
            return False
        self._result()
        return True

    def wait(self, timeout=None):
        """Wait until it has completed; return the result. `timeout` is in seconds."""
        end = None if timeout is None else time.monotonic() + timeout

        def left():
            return None if end is None else max(0.0, end - time.monotonic())

        self._line.advance()
        while self._is_in_line():
            first = self._line.waiting[0]
            if first._event is not None:
                first._sizes.unmark()
                first._event = None
            try:
                first._sizes.wait(left())
            except TimeoutError:
                raise
            except Exception:
                pass  # kept by has_sizes()
            self._line.advance()
        if self._bytes is not None:
            self._bytes.wait(left())
        return self._result()

    def __await__(self):
        return self._awaited().__await__()

    async def _awaited(self):
        self._line.advance()
        while self._is_in_line():
            await self._line.waiting[0]._sizes_known()
            self._line.advance()
        if self._bytes is not None and not self._bytes.test():
            await completion_of(self._bytes)
        if self._bytes is not None:
            self._bytes.wait()
        return self._result()

    async def _sizes_known(self):
        """For several tasks: those that await later operations, too."""
        if self._event is None:
            queue, event_class = queue_here()
            self._event = event_class()
            self._sizes.mark(queue, self._event.set)
        await self._event.wait()


def ibcast_object(comm, obj, root=0):
    """Start sending an object of the root to all ranks.

    Parameters
    ----------
    obj : object
        Ignored except on the root. Arrays in it are not copied by pickle.
    root : int, optional

    Returns
    -------
    ObjectRequest
        Its result is the object.
    """
    line = line_of(comm)
    is_root = comm.rank == root
    data = pack(obj) if is_root else None
    size = array.array("q", [len(data) if is_root else 0])

    def start_bytes():
        nonlocal data
        if not is_root:
            data = bytearray(size[0])
        return line.of_bytes.ibcast(data, root)

    return ObjectRequest(line, line.of_sizes.ibcast(size, root), start_bytes, lambda: obj if is_root else unpack(data))


def gathering(comm, obj, root, sizes, start):
    """A gather or allgather: `start(line, data, [buffer, sizes])` starts the bytes."""
    line = line_of(comm)
    data = pack(obj)
    mine = array.array("q", [len(data)])
    gathers = root is None or comm.rank == root
    all_sizes = array.array("q", bytes(8 * comm.size)) if gathers else None
    gathered = None

    def start_bytes():
        nonlocal gathered
        if gathers:
            gathered = bytearray(sum(all_sizes))
        return start(line.of_bytes, data, [gathered, all_sizes])

    def finish():
        if not gathers:
            return None
        view, at, result = memoryview(gathered), 0, []
        for size in all_sizes:
            result.append(unpack(view[at:at + size]))
            at += size
        return result

    return ObjectRequest(line, sizes(line.of_sizes, mine, all_sizes), start_bytes, finish)


def iallgather_object(comm, obj):
    """Start gathering an object of each rank at all ranks.

    Returns
    -------
    ObjectRequest
        Its result is the list of the objects, by rank.
    """
    return gathering(comm, obj, None, lambda of, mine, all_sizes: of.iallgather(mine, all_sizes),
                     lambda of, data, blocks: of.iallgatherv(data, blocks))


def igather_object(comm, obj, root=0):
    """Start gathering an object of each rank at the root.

    Returns
    -------
    ObjectRequest
        Its result is the list of the objects, by rank; None except on the root.
    """
    return gathering(comm, obj, root, lambda of, mine, all_sizes: of.igather(mine, all_sizes, root),
                     lambda of, data, blocks: of.igatherv(data, blocks, root))


def bcast_object(comm, obj, root=0):
    """As `ibcast_object(...).wait()`."""
    return ibcast_object(comm, obj, root).wait()


def allgather_object(comm, obj):
    """As `iallgather_object(...).wait()`."""
    return iallgather_object(comm, obj).wait()


def gather_object(comm, obj, root=0):
    """As `igather_object(...).wait()`."""
    return igather_object(comm, obj, root).wait()
