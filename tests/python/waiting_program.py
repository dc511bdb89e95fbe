"""Two ranks; rank 0 waits in the ways that the argument names, while rank 1 comes late on purpose: only when rank 0 has said
that it waits (a file), so that no test depends on time."""

import asyncio
import gc
import os
import signal
import sys
import threading
import time
import warnings

import numpy
import weft

comm = weft.init()
late = comm.dup()  # its operations lack rank 1 until that is told
of_their_own = comm.dup()  # breaks
flag = os.path.join(os.environ["FLAG_FOLDER"], "flag%d")
flags = 0


def go():
    """Rank 0: lets rank 1 go on."""
    global flags
    open(flag % flags, "w").close()
    flags += 1


def await_go():
    """Rank 1: waits for rank 0."""
    global flags
    end = time.monotonic() + 30
    while not os.path.exists(flag % flags):
        assert time.monotonic() < end, "rank 0 does not come"
        time.sleep(0.002)
    flags += 1


def check(value, expected, what="result"):
    assert value == expected, "%s: %r; expected %r" % (what, value, expected)


def raised(kind, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError("nothing was raised; expected " + kind.__name__)


def late_sum():
    return late.iallreduce(numpy.array([comm.rank + 1]))


def take_part(times=1):
    """Rank 1: waits for rank 0, then does its part."""
    await_go()
    for _ in range(times):
        check(late_sum().wait()[0], 3)


def in_loops(coroutine):
    """Runs it in the event loop that is tried."""
    if loop == "trio":
        import trio
        trio.run(coroutine)
    elif loop == "anyio":
        import anyio
        anyio.run(coroutine)
    else:
        asyncio.run(coroutine())


# --- Waits ---

def wait_with_timeout():
    if comm.rank == 1:
        return take_part()
    request = late_sum()
    check(request.test(), False)
    error = raised(weft.TimedOut, request.wait, 0.01)
    check((error.rank, error.call), (1, "iallreduce"))
    assert isinstance(error, TimeoutError)
    raised(weft.TimedOut, request.wait, timeout=0)
    go()
    check(request.wait(30)[0], 3)
    check(request.wait()[0], 3, "again")
    check(request.test(), True)


def blocking_timeout():
    """WEFT_TIMEOUT ends a blocking call, whose operation goes on, and with it its buffers."""
    if comm.rank == 1:
        return take_part()
    error = raised(weft.TimedOut, late.allreduce, numpy.array([1]))
    check((error.rank, error.call), (1, "allreduce"))
    go()
    check(comm.allreduce(numpy.array([1]))[0], 2)


blocking_timeout.of_rank_1 = lambda: (take_part(), comm.allreduce(numpy.array([1])))


def persistent():
    values = numpy.array([0])
    request = late.allreduce_init(values)
    for turn in range(3):
        if comm.rank == 1:
            await_go()
        values[0] = turn
        request.start()
        if comm.rank == 0:
            check(request.test(), False)
            raised(weft.StateError, request.start)
            raised(weft.Outstanding, request.free)
            go()
        check(request.wait()[0], 2 * turn)
    request.free()
    raised(weft.HandleError, request.start)


def threads():
    """Several threads wait for one request: all get the outcome. Others run meanwhile."""
    if comm.rank == 1:
        return take_part()
    request = late_sum()
    results, turns = [], []
    waiting = [threading.Thread(target=lambda: results.append(request.wait()[0])) for _ in range(4)]
    for thread in waiting:
        thread.start()
    while len(turns) < 1000:  # this thread has the GIL though they wait
        turns.append(1)
    go()
    check(request.wait()[0], 3)
    for thread in waiting:
        thread.join()
    check(results, [3] * 4)


def interrupt():
    """Ctrl-C ends a wait; the operation goes on."""
    if comm.rank == 1:
        return take_part()
    request = late_sum()
    main = threading.get_ident()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    threading.Timer(0.2, signal.pthread_kill, [main, signal.SIGINT]).start()
    raised(KeyboardInterrupt, request.wait)
    threading.Timer(0.2, signal.pthread_kill, [main, signal.SIGINT]).start()
    raised(KeyboardInterrupt, late.barrier)  # goes on, too
    check(signal.getsignal(signal.SIGINT), signal.default_int_handler)
    # A handler that returns ends nothing.
    seen = []
    signal.signal(signal.SIGUSR1, lambda *_: (seen.append(1), go()))
    threading.Timer(0.2, signal.pthread_kill, [main, signal.SIGUSR1]).start()
    check(request.wait()[0], 3)
    check(seen, [1])


interrupt.of_rank_1 = lambda: (take_part(), late.barrier())


def garbage():
    """A dropped request warns, and keeps its buffers until it has ended."""
    if comm.rank == 1:
        return take_part()
    received = bytearray(8)
    request = late.iallreduce(numpy.array([1]), numpy.frombuffer(received, "i8"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del request
        gc.collect()
    check([str(warning.message).split(";")[0] for warning in caught],
          ["weft: a request of iallreduce was dropped before it had completed"])
    raised(BufferError, received.clear)
    go()
    end = time.monotonic() + 30
    while True:
        weft._weft.sweep()  # as each start does
        try:
            received.clear()
            break
        except BufferError:
            assert time.monotonic() < end, "the buffer is still held"


# --- Without a blocked thread ---

def awaits():
    async def body():
        if comm.rank == 1:
            return take_part(3)
        request = late_sum()
        others = [late_sum(), late_sum()]
        raised(weft.TimedOut, request.wait, 0)
        go()
        check((await request)[0], 3)
        check((await request)[0], 3, "again")
        for other in others:
            check((await other)[0], 3)

    before = threading.active_count()
    in_loops(body)
    check(threading.active_count(), before, "threads")


def many_awaits():
    async def one():
        return (await comm.iallreduce(numpy.array([1])))[0]

    async def body():
        for _ in range(20):
            check(await asyncio.gather(*(one() for _ in range(100))), [2] * 100)

    asyncio.run(body())


def await_timeout():
    """A cancelled await lets the operation go on; it can be awaited again."""
    async def body():
        if comm.rank == 1:
            return take_part()
        request = late_sum()
        try:
            await asyncio.wait_for(wrapped(request), 0.05)
            raise AssertionError("no timeout")
        except asyncio.TimeoutError:
            pass
        task = asyncio.ensure_future(wrapped(request))
        await asyncio.sleep(0)
        error = raised(weft.StateError, request.wait)
        assert "awaited" in str(error)
        go()
        check((await task)[0], 3)

    async def wrapped(request):
        return await request

    asyncio.run(body())


def completed():
    requests = [comm.iallreduce(numpy.array([1])), None, comm.iallreduce(numpy.array([2]))]
    if comm.rank == 1:
        requests[0].wait(), requests[2].wait(), take_part()
        return take_part()
    requests[1] = late_sum()
    order = []
    for request in weft.as_completed(requests):
        order.append(int(request.wait()[0]))
        if len(order) == 2:
            go()
    check((sorted(order[:2]), order[2:]), ([2, 4], [3]))

    request = late_sum()
    raised(weft.TimedOut, list, weft.as_completed([request], timeout=0.01))
    go()
    check(request.wait()[0], 3)


def completed_async():
    async def body():
        if comm.rank == 1:
            comm.iallreduce(numpy.array([1])).wait()
            return take_part()
        requests = [late_sum(), comm.iallreduce(numpy.array([1]))]
        order = []
        async for request in weft.as_completed(requests):
            order.append(int(request.wait()[0]))
            if len(order) == 1:
                go()
        check(order, [2, 3])

    in_loops(body)


def futures():
    if comm.rank == 1:
        return take_part(2)
    queue = weft.CompletionQueue()
    called = []
    future = late_sum().future()
    late_sum().add_done_callback(lambda request: called.append(request.wait()[0]), queue)
    check((future.done(), queue.dispatch(), len(queue)), (False, 0, 1))
    go()
    check(future.result(30)[0], 3)
    queue.wait(30)()
    check(called, [3])


def objects():
    array = numpy.arange(1000.0) + comm.rank
    first = comm.ibcast_object({"array": array, "rank": comm.rank}, 1)
    second = comm.iallgather_object([comm.rank] * (comm.rank + 1))
    third = comm.igather_object(array if comm.rank else None)
    # In another order on each rank.
    for request in ([first, second, third] if comm.rank else [third, second, first]):
        request.wait(30)
    got = first.wait()
    check((got["rank"], list(got["array"][:2])), (1, [1.0, 2.0]))
    got["array"][0] = 5  # may be written
    check(second.wait(), [[0], [1, 1]])
    if comm.rank == 0:
        check(third.wait()[0], None)
        assert (third.wait()[1] == numpy.arange(1000.0) + 1).all()
    else:
        check(third.wait(), None)

    async def body():
        requests = [comm.iallgather_object((comm.rank, number)) for number in range(5)]
        results = await asyncio.gather(*(wrapped(request) for request in reversed(requests)))
        check(results, [[(0, number), (1, number)] for number in reversed(range(5))])

    async def wrapped(request):
        return await request

    asyncio.run(body())
    check(comm.bcast_object("text" if comm.rank == 0 else None), "text")
    raised(Exception, comm.igather_object, lambda: None)  # cannot be pickled: nothing has started
    check(comm.allgather_object(comm.rank), [0, 1])


def messages():
    """Messages wait in all ways, and end with the failures of collectives."""
    got = numpy.zeros(2)
    if comm.rank == 1:
        await_go()
        for tag in range(4):
            comm.send(numpy.array([tag, 1.0]), 0, tag)
        error = raised(weft.MessageMismatch, of_their_own.recv, numpy.zeros(3), 0)
        check((error.rank, error.call), (0, "recv"))
        return None

    async def body():
        requests = [comm.irecv(got, 1, 0), comm.irecv(numpy.zeros(2), tag=1)]
        error = raised(weft.TimedOut, requests[0].wait, 0.01)
        check((error.rank, error.call), (1, "irecv"))
        check(requests[0].status, None)
        go()
        for request in requests:
            await request
        check((list(got), requests[1].status.source), ([0, 1], 1))

    asyncio.run(body())
    future = comm.irecv(got, 1, tag=2).future()
    check(list(future.result(30)), [2, 1])
    request = comm.irecv(got, 1, tag=3)
    check([list(done.wait()) for done in weft.as_completed([request])], [[3, 1]])

    for call in (lambda: comm.isend(got, 2), lambda: comm.isend(got, -1), lambda: comm.irecv(got, 2),
                 lambda: comm.irecv(got, 0, -1), lambda: comm.send(got, 0, 8388608), lambda: comm.recv(got, 2),
                 lambda: comm.isend(got[::-1], 0), lambda: comm.irecv(b"12", 1), lambda: comm.send(None, 1)):
        check(raised(weft.ArgumentError, call).status, "WEFT_REFUSED_ARGUMENT")
    for call in (lambda: comm.isend(got), lambda: comm.irecv(), lambda: comm.isend(got, 1.5)):
        raised(TypeError, call)
    sent = of_their_own.isend(numpy.zeros(2), 1)  # three elements are received
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        del sent


# --- Failures and ends ---

def aborted():
    """One rank calls off what is pending: Aborted names it and its reason, on each rank."""
    broken = comm.dup()
    if comm.rank == 1:
        request = broken.irecv(bytearray(8), 1)  # not of the rank that is to blame
        comm.barrier()
        error = raised(weft.Aborted, request.wait, 30)
        check((error.rank, error.call, error.status), (0, "irecv", "WEFT_BROKEN_ABORT"))
        assert str(error).count("\u00f6") == 27, error  # 55 bytes: cut within a letter
        check(request.status, None)
    else:
        request = broken.iallreduce(numpy.array([1]))
        comm.barrier()
        broken.abort("\u00f6" * 40)
        error = raised(weft.Aborted, request.wait, 30)
        check((error.rank, error.call), (0, "iallreduce"))
        raised(TypeError, broken.abort)
    raised(weft.Broken, broken.allreduce, numpy.array([1]))
    broken.free()
    raised(weft.HandleError, broken.abort, "freed")
    check(comm.allreduce(numpy.array([1]))[0], 2, "another communicator")


def killed():
    if comm.rank == 1:
        await_go()
        os.kill(os.getpid(), signal.SIGKILL)
    request = late_sum()
    go()
    error = raised(weft.RankLost, request.wait, 30)
    check((error.rank, error.call, error.status), (1, "iallreduce", "WEFT_BROKEN_RANK"))
    raised(weft.RankLost, request.wait)
    raised(weft.Broken, late.allreduce, numpy.array([1]))


def mismatch():
    call = late.ibcast if comm.rank else late.iallreduce
    error = raised(weft.MessageMismatch, call(numpy.array([1])).wait, 30)
    assert "allreduce" in str(error) and "bcast" in str(error), error


def exception_in_operation():
    def wrong(a, b):
        raise ValueError("wrong")

    sys.unraisablehook = lambda info: None
    error = raised(weft.FunctionFailed, late.allreduce, numpy.array([1]), op=weft.Op(wrong))
    assert error.rank in (0, 1)


def exit_with_operations():
    """Rank 0 ends with an operation that lacks rank 1, in a global variable and in a dropped request."""
    if comm.rank == 1:
        error = raised(weft.Broken, comm.barrier)
        check(error.rank, 0)
        return None
    global kept
    kept = late.iallreduce(numpy.zeros(100000))
    warnings.simplefilter("ignore")
    late.iallreduce(numpy.zeros(100000))


def forked():
    warnings.simplefilter("ignore")  # of threads, in a process that forks
    child = os.fork()
    if child == 0:
        try:
            raised(weft.StateError, comm.iallreduce, numpy.array([1]))
            os._exit(0)
        finally:
            os._exit(1)
    check(os.waitpid(child, 0)[1], 0, "status of the child")
    check(comm.allreduce(numpy.array([1]))[0], 2)


for loop in sys.argv[2].split(",") if len(sys.argv) > 2 else ["asyncio"]:
    for name in sys.argv[1].split(","):
        body = globals()[name]
        (getattr(body, "of_rank_1", body) if comm.rank == 1 else body)()
print("done")
