"""Cases of groups: their order, settings, failures and ends. usage: group_program.py CASE"""

import datetime
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

import weft_torch

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def seconds(number):
    return datetime.timedelta(seconds=number)


def total(group=None, rank=None):
    tensor = torch.tensor([float(RANK + 1)])
    dist.all_reduce(tensor, group=group)
    return tensor.item()


def failure_of(call):
    """Its sentence, and how many seconds it took."""
    begin = time.monotonic()
    try:
        call()
    except (RuntimeError, ValueError) as error:
        return str(error).splitlines()[0], time.monotonic() - begin
    raise AssertionError("no failure")


def expect(sentence, *parts):
    missing = [part for part in parts if part not in sentence]
    assert not missing, "%r lacks %s" % (sentence, missing)


def orders():
    """Groups of weft of which no one has all processes, before one that has."""
    dist.init_process_group("gloo", timeout=seconds(60))
    for members in ([0, 1], [1, 2], [2], [0, 1, 2], [0, 2], [2, 1, 0]):
        group = dist.new_group(members, backend="weft")
        if RANK in members:
            assert total(group) == sum(rank + 1 for rank in members), members
            tensor = torch.tensor([RANK])
            dist.broadcast(tensor, src=members[-1], group=group)
            assert tensor.item() == members[-1], members
    dist.destroy_process_group()


def again():
    """Destroyed and made again, on one store."""
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), RANKS, RANK == 0)
    for _ in range(3):
        dist.init_process_group("weft", store=store, rank=RANK, world_size=RANKS, timeout=seconds(60))
        assert total() == RANKS * (RANKS + 1) / 2
        assert dist.get_backend() == "weft"
        dist.destroy_process_group()


def split():
    dist.init_process_group("weft", timeout=seconds(60))
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (RANKS,))
    assert total(mesh.get_group()) == RANKS * (RANKS + 1) / 2
    halves = dist.split_group(split_ranks=[list(range(RANKS - 1)), [RANKS - 1]])
    assert total(halves) == (RANKS if RANK == RANKS - 1 else (RANKS - 1) * RANKS / 2)
    groups, _ = dist.new_subgroups_by_enumeration([[RANKS - 1], list(range(RANKS - 1))])
    assert total(groups) == (RANKS if RANK == RANKS - 1 else (RANKS - 1) * RANKS / 2)
    dist.destroy_process_group()


def settings():
    dist.init_process_group("weft", timeout=seconds(60))
    group = dist.new_group(list(range(RANKS)), pg_options=weft_torch.Options(reproducible=True, accumulate="float32"))
    assert total(group) == RANKS * (RANKS + 1) / 2
    sentence, _ = failure_of(lambda: dist.new_group(list(range(RANKS)), pg_options=weft_torch.Options(accumulate="int3")))
    expect(sentence, "accumulate", "int3")
    assert total() == RANKS * (RANKS + 1) / 2
    dist.destroy_process_group()


def timeout():
    """The rank that is late is named; its tensors stay; the operation goes on."""
    dist.init_process_group("weft", timeout=seconds(60))
    group = dist.new_group(list(range(RANKS)), timeout=seconds(1))
    store = dist.distributed_c10d._get_default_store()
    late = RANKS - 1
    if RANK == late:
        store.get("timed out")
        assert total(group) == RANKS * (RANKS + 1) / 2
    else:
        tensor = torch.tensor([float(RANK + 1)])
        work = dist.all_reduce(tensor, group=group, async_op=True)
        sentence, took = failure_of(work.wait)
        expect(sentence, "all_reduce", "rank %d" % late, "Timed out")
        assert took < 30, took
        if RANK == 0:
            future = dist.all_reduce(torch.zeros(1), async_op=True).get_future()  # of another group: not late
            store.set("timed out", "yes")
        else:
            future = dist.all_reduce(torch.zeros(1), async_op=True).get_future()
        work.wait(seconds(60))
        assert tensor.item() == RANKS * (RANKS + 1) / 2
        future.wait()
    if RANK == late:
        dist.all_reduce(torch.zeros(1))
    dist.destroy_process_group()


def future_timeout():
    dist.init_process_group("weft", timeout=seconds(60))
    group = dist.new_group(list(range(RANKS)), timeout=seconds(1))
    store = dist.distributed_c10d._get_default_store()
    if RANK == 0:
        work = dist.all_reduce(torch.ones(1), group=group, async_op=True)
        sentence, took = failure_of(work.get_future().wait)
        expect(sentence, "all_reduce", "rank 1", "Timed out")
        assert took < 30, took
        polled = dist.all_reduce(torch.ones(1), group=group, async_op=True)
        while not polled.is_completed():
            time.sleep(0.01)
        assert not polled.is_success()
        store.set("timed out", "yes")
    else:
        store.get("timed out")
    dist.barrier()
    os._exit(0)  # what is pending ends with the processes


def killed():
    """A rank dies in an operation."""
    dist.init_process_group("weft", timeout=seconds(60))
    victim = RANKS - 1
    total()
    if RANK == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    sentence, took = failure_of(lambda: [total() for _ in range(1_000_000)])
    expect(sentence, "all_reduce", "rank %d" % victim)
    assert took < 30, took
    print("named rank %d" % victim)


def mismatched():
    """Ranks that give other sizes."""
    dist.init_process_group("gloo", timeout=seconds(60))
    other = 10 + RANK

    def messages(group):
        if RANK == 0:
            dist.send(torch.zeros(10), 1, group=group)
        else:
            dist.recv(torch.zeros(11), 0, group=group)

    for call in (lambda group: dist.all_reduce(torch.zeros(other), group=group),
                 lambda group: dist.broadcast(torch.zeros(other), src=0, group=group),
                 lambda group: dist.all_gather_into_tensor(torch.zeros(2 * other), torch.zeros(other), group=group),
                 messages):
        group = dist.new_group([0, 1], backend="weft")
        # (A rank that only sends may have done so.)
        sentence, took = failure_of(lambda: (call(group), dist.barrier(group=group)))
        expect(sentence, "rank ")
        assert took < 30, took
    dist.destroy_process_group()


def aborted():
    """One rank calls off what is pending on all."""
    dist.init_process_group("weft", timeout=seconds(60))
    group = dist.new_group(list(range(RANKS)))
    if RANK == 0:
        dist.barrier()
        group.abort()
        sentence, _ = failure_of(lambda: total(group))
    else:
        work = dist.all_reduce(torch.ones(1), group=group, async_op=True)
        dist.barrier()
        sentence, took = failure_of(work.wait)
        assert took < 30, took
    expect(sentence, "all_reduce", "rank 0", "aborted")
    assert total() == RANKS * (RANKS + 1) / 2  # other groups go on
    dist.destroy_process_group()


def monitored():
    """Rank 0 says who is missing."""
    dist.init_process_group("weft", timeout=seconds(60))
    missing = RANKS - 1
    if RANK == 0:
        sentence, _ = failure_of(lambda: dist.monitored_barrier(timeout=seconds(1)))
        expect(sentence, "Rank %d failed to pass monitoredBarrier in 1000 ms" % missing)
    elif RANK != missing:
        sentence, _ = failure_of(lambda: dist.monitored_barrier(timeout=seconds(30)))
        expect(sentence, "Rank %d successfully reached monitoredBarrier" % RANK)
    dist.barrier()
    os._exit(0)


def left():
    """Ends without destroy_process_group, with dropped operations; one rank much earlier than others."""
    dist.init_process_group("weft", timeout=seconds(60))
    kept = [torch.ones(1 << 16, requires_grad=False).t() for _ in range(3)]
    for tensor in kept:
        dist.all_reduce(tensor, async_op=True)
    if RANK == 0:
        dist.isend(torch.ones(10), 1)
    elif RANK == 1:
        time.sleep(0.5)
        tensor = torch.zeros(10)
        dist.recv(tensor, 0)
        assert tensor.sum().item() == 10
    dist.all_reduce(torch.ones(1), async_op=True).get_future()


def devices():
    """With a back end for other devices beside it."""
    dist.init_process_group("cpu:weft", timeout=seconds(60))
    assert total() == RANKS * (RANKS + 1) / 2
    dist.destroy_process_group()


def threads():
    """Futures whose callbacks wait for other operations, and threads that wait for one Work."""
    import threading

    dist.init_process_group("weft", timeout=seconds(60))
    other = dist.new_group(list(range(RANKS)))

    def more(done):
        tensor = done.value()[0]
        dist.all_reduce(tensor, group=other)
        return tensor

    chained = [dist.all_reduce(torch.ones(1), async_op=True).get_future().then(more) for _ in range(3)]
    for future in chained:
        assert future.wait().item() == RANKS * RANKS
    work = dist.all_reduce(torch.ones(1 << 20), async_op=True)
    waiting = [threading.Thread(target=work.wait) for _ in range(4)]
    for thread in waiting:
        thread.start()
    work.get_future().wait()
    for thread in waiting:
        thread.join(60)
        assert not thread.is_alive()
    dist.destroy_process_group()


globals()[sys.argv[1]]()
