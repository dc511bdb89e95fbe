"""A rank of ./dev bench --torch (tools/torch_bench.py starts it): rank 0 prints what was measured, as JSON.

usage: rank.py operation SECONDS NAME TYPE BYTES... | rank.py ddp SECONDS HIDDEN LAYERS BUCKET_MB BATCH [HOOK [SETTING...]]
operation: allreduce, allgather, barrier or future, with gloo and weft in turn in one run
ddp: a training step, likewise. BATCH is a number of inputs, or "equal": as many as are computed in the time that gloo takes
to add the gradients. HOOK is none, or bf16 for gloo alone, or bf16+weft for both; SETTINGs are of weft's group: wire=bfloat16"""

import datetime
import json
import math
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

import weft_torch

BACKENDS = ("gloo", "weft")
TURN_SECONDS = 0.02  # of one back end, before the other's
TURN_MAX = 50        # operations

os.environ.setdefault("RANK", os.environ.get("WEFT_RANK", ""))
os.environ.setdefault("WORLD_SIZE", os.environ.get("WEFT_RANKS", ""))
torch.set_num_threads(1)
clock, cpu_clock = time.perf_counter, time.process_time


class Samples:
    def __init__(self):
        self.seconds, self.cpu, self.turns = [], 0.0, []

    def summary(self):
        ordered = sorted(self.seconds)
        count = len(ordered)
        return {"count": count, "median": median(ordered), "p99": ordered[min(count - 1, count * 99 // 100)],
                "cpu": self.cpu / count}


def median(values):
    return sorted(values)[len(values) // 2]


def interval_of_median(values):
    """That of 95 %, by the sign test: of ordered values, those around the middle."""
    ordered, count = sorted(values), len(values)
    aside = int(0.98 * math.sqrt(count)) + 1
    return [ordered[max(0, count // 2 - aside)], ordered[min(count - 1, count // 2 + aside)]]


def in_turn(seconds, calls, control, turn=None):
    """Samples of each call; rank 0 decides when it is enough, so that all make the same calls."""
    samples = {name: Samples() for name in calls}
    for call in calls.values():
        for _ in range(3):
            call()
    if turn is None:
        begin = clock()
        for _ in range(3):
            calls["gloo"]()
        longest = torch.tensor([(clock() - begin) / 3])
        dist.all_reduce(longest, op=dist.ReduceOp.MAX, group=control)
        turn = max(2, min(TURN_MAX, int(TURN_SECONDS / longest.item())))
    end = clock() + seconds
    goes_on = torch.ones(1)
    while goes_on.item():
        for name, call in calls.items():
            dist.barrier(group=control)
            call()
            cpu, own = cpu_clock(), []
            for _ in range(turn):
                begin = clock()
                call()
                own.append(clock() - begin)
            samples[name].cpu += cpu_clock() - cpu
            samples[name].seconds += own
            samples[name].turns.append(median(own))
        goes_on[0] = float(clock() < end)
        dist.broadcast(goes_on, src=0, group=control)
    result = {name: one.summary() for name, one in samples.items()}
    result["interval"] = interval_of_median([weft / gloo for weft, gloo in zip(samples["weft"].turns, samples["gloo"].turns)])
    return result


def operation(kind, group, size, dtype):
    count = max(1, size // torch.empty(0, dtype=dtype).element_size())
    tensor = torch.zeros(count, dtype=dtype)
    output = torch.zeros(count * dist.get_world_size(), dtype=dtype) if kind == "allgather" else None
    return {"allreduce": lambda: dist.all_reduce(tensor, group=group),
            "allgather": lambda: dist.all_gather_into_tensor(output, tensor, group=group),
            "barrier": lambda: dist.barrier(group=group),
            "future": lambda: dist.all_reduce(tensor, group=group, async_op=True).get_future().wait()}[kind]


def operations(seconds, kind, dtype, *sizes):
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=100))
    everyone = list(range(dist.get_world_size()))
    control = dist.new_group(everyone, backend="gloo")
    groups = {name: dist.new_group(everyone, backend=name) for name in BACKENDS}
    result = {}
    for size in map(int, sizes):
        result[size] = in_turn(seconds, {name: operation(kind, group, size, getattr(torch, dtype))
                                         for name, group in groups.items()}, control)
    return result


def seconds_of(call, control, repeats=5):
    """The median time of a call, as the slowest rank has it."""
    times = []
    for _ in range(repeats):
        dist.barrier(group=control)
        begin = clock()
        call()
        times.append(clock() - begin)
    longest = torch.tensor([median(times)])
    dist.all_reduce(longest, op=dist.ReduceOp.MAX, group=control)
    return longest.item()


def equal_batch(model, hidden, bucket_mb, group, control):
    """How many inputs take as long to compute, forwards and backwards, as the gradients to add with `group`."""
    elements = sum(parameter.numel() for parameter in model.parameters())
    bucket = max(1, min(elements, int(bucket_mb * (1 << 20)) // 4))
    gradients = [torch.zeros(bucket) for _ in range(elements // bucket)]

    def add():
        for work in [dist.all_reduce(gradient, group=group, async_op=True) for gradient in gradients]:
            work.wait()

    def compute(batch):
        inputs = torch.randn(batch, hidden)
        return lambda: model(inputs).square().mean().backward()

    wanted, batch = seconds_of(add, control), 64
    for _ in range(3):
        batch = max(1, round(batch * wanted / seconds_of(compute(batch), control)))
    return batch


def ddp(seconds, hidden, layers, bucket_mb, batch, hook="none", *settings):
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=100))
    everyone = list(range(dist.get_world_size()))
    control = dist.new_group(everyone, backend="gloo")
    options = weft_torch.Options(**dict(setting.split("=") for setting in settings))
    groups = {"gloo": dist.new_group(everyone, backend="gloo"),
              "weft": dist.new_group(everyone, backend="weft", pg_options=options)}
    hidden, bucket_mb = int(hidden), float(bucket_mb)

    def new_model():
        torch.manual_seed(1)
        return nn.Sequential(*[part for _ in range(int(layers)) for part in (nn.Linear(hidden, hidden), nn.ReLU())])

    batch = equal_batch(new_model(), hidden, bucket_mb, groups["gloo"], control) if batch == "equal" else int(batch)
    inputs, plain = torch.randn(batch, hidden), new_model()

    def step_of(name):
        wrapped = nn.parallel.DistributedDataParallel(new_model(), process_group=groups[name], bucket_cap_mb=bucket_mb,
                                                      gradient_as_bucket_view=True)
        if hook == "bf16+weft" or (hook == "bf16" and name == "gloo"):
            from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

            wrapped.register_comm_hook(groups[name], bf16_compress_hook)

        def step():
            wrapped.zero_grad(set_to_none=True)
            wrapped(inputs).square().mean().backward()

        return step

    result = in_turn(seconds, {name: step_of(name) for name in BACKENDS}, control, turn=3)
    return {"step": dict(result, batch=batch, computation=seconds_of(lambda: plain(inputs).square().mean().backward(), control))}


def main():
    what, seconds, *rest = sys.argv[1:]
    result = {"operation": operations, "ddp": ddp}[what](float(seconds), *rest)
    if dist.get_rank() == 0:
        print(json.dumps(result), flush=True)
    dist.destroy_process_group()


main()
