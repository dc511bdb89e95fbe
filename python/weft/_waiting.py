"""await, futures and callbacks: waiting without a blocked thread, by the completion descriptor."""

import asyncio
import collections
import concurrent.futures
import os
import select
import sys
import threading
import weakref

from ._errors import Error, StateError
from ._weft import CompletionQueue

# --- Event loops ---------------------------------------------------------------------------------

queues = weakref.WeakKeyDictionary()  # of loops of asyncio
trio_queue = None  # trio's variable with the queue of a run


def queue_of_asyncio(loop):
    queue = queues.get(loop)
    if queue is None:
        queue = CompletionQueue()
        loop.add_reader(queue.fileno(), queue.dispatch)
        queues[loop] = queue
    return queue


async def serve_trio(trio, queue):
    while True:
        await trio.lowlevel.wait_readable(queue.fileno())
        queue.dispatch()


def queue_of_trio(trio):
    global trio_queue
    if trio_queue is None:
        trio_queue = trio.lowlevel.RunVar("weft")
    try:
        return trio_queue.get()
    except LookupError:
        queue = CompletionQueue()
        queue.fileno()  # refused by engines without one
        trio_queue.set(queue)
        trio.lowlevel.spawn_system_task(serve_trio, trio, queue)
        return queue


def queue_here():
    """The running event loop's queue, and its class of events."""
    try:
        return queue_of_asyncio(asyncio.get_running_loop()), asyncio.Event
    except RuntimeError as error:
        if isinstance(error, Error):
            raise
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return queue_of_trio(trio), trio.Event
    raise StateError("await needs an event loop of asyncio or trio", "WEFT_REFUSED_STATE", "await")


async def completion_of(request):
    queue, event_class = queue_here()
    event = event_class()
    request.mark(queue, event.set)
    try:
        await event.wait()
    except BaseException:  # cancelled: the operation goes on, and can be awaited again
        request.unmark()
        raise


def awaited(request):
    """Suspend the coroutine until the operation has completed; give its result."""
    if not request.test():
        yield from completion_of(request).__await__()
    return request.wait()


# --- Programs without an event loop --------------------------------------------------------------

class Thread:
    """Serves callbacks; started by the first that has no queue of its own."""

    def __init__(self):
        self.queue = CompletionQueue()
        self.queue.fileno()
        self.end, self.to_end = os.pipe()
        self.thread = threading.Thread(target=self.serve, name="weft-callbacks", daemon=True)
        self.thread.start()

    def serve(self):
        poll = select.poll()
        poll.register(self.queue.fileno(), select.POLLIN)
        poll.register(self.end, select.POLLIN)
        while not any(descriptor == self.end for descriptor, _ in poll.poll()):
            try:
                self.queue.dispatch()
            except Exception:
                sys.excepthook(*sys.exc_info())

    def stop(self):
        os.write(self.to_end, b"x")
        self.thread.join()
        os.close(self.end)
        os.close(self.to_end)


thread = None
thread_lock = threading.Lock()


def queue_of_thread():
    global thread
    with thread_lock:
        if thread is None:
            thread = Thread()
        return thread.queue


def stop_thread():
    global thread
    with thread_lock:
        if thread is not None:
            thread.stop()
        thread = None


def add_done_callback(request, callback, queue=None):
    """Call `callback(request)` when the operation has completed; `request.wait()` then returns at once.

    Parameters
    ----------
    callback : callable
    queue : CompletionQueue, optional
        The queue whose `dispatch` calls it. Default: a thread that the first such call starts.
    """
    if request.is_active:
        request.mark(queue_of_thread() if queue is None else queue, lambda: callback(request))
    else:
        callback(request)


def future(request, queue=None):
    """Return a `concurrent.futures.Future` of the operation. It cannot be cancelled.

    Parameters
    ----------
    queue : CompletionQueue, optional
        As of `add_done_callback`.
    """
    result = concurrent.futures.Future()
    result.set_running_or_notify_cancel()

    def settle(request):
        try:
            value = request.wait()
        except BaseException as error:
            result.set_exception(error)
        else:
            result.set_result(value)

    add_done_callback(request, settle, queue)
    return result


class as_completed:
    """Iterate over requests in the order in which they complete, by `for` or `async for`.

    Parameters
    ----------
    requests : iterable of Request
    timeout : float, optional
        Seconds for each wait of `for`, after which `TimedOut` is raised.
    """

    def __init__(self, requests, timeout=None):
        self.requests = list(requests)
        self.timeout = timeout

    def _mark(self, queue, callback_of):
        """Marks those that are pending; returns them, and the others."""
        done = [request for request in self.requests if not request.is_active]
        pending = [request for request in self.requests if request.is_active]
        for request in pending:
            request.mark(queue, callback_of(request))
        return pending, done

    def __iter__(self):
        queue = CompletionQueue()
        numbers = {id(request): number for number, request in enumerate(self.requests)}
        pending, done = self._mark(queue, lambda request: numbers[id(request)])
        try:
            yield from done
            for _ in pending:
                yield self.requests[queue.wait(self.timeout)]
        finally:
            for request in pending:
                request.unmark()

    async def __aiter__(self):
        queue, event_class = queue_here()
        ended = collections.deque()
        event = event_class()

        def callback_of(request):
            def note():
                ended.append(request)
                event.set()
            return note

        pending, done = self._mark(queue, callback_of)
        try:
            for request in done:
                yield request
            for _ in pending:
                while not ended:
                    event = event_class()
                    await event.wait()
                yield ended.popleft()
        finally:
            for request in pending:
                request.unmark()
