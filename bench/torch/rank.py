"""A rank of ./dev bench --torch (tools/torch_bench.py starts it): rank 0 prints what was measured, as JSON.

usage: rank.py operation SECONDS NAME TYPE BYTES... | rank.py ddp SECONDS HIDDEN LAYERS BUCKET_MB [HOOK [SETTING...]]
operation: allreduce, allgather, barrier or future, with gloo and weft in turn in one run
ddp: a training step, likewise. HOOK is none, or bf16 for gloo alone, or bf16+weft for both; SETTINGs are of weft's group:
wire=bfloat16"""

import datetime
import json
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
        self.seconds, self.cpu = [], 0.0

    def summary(self):
        ordered = sorted(self.seconds)
        count = len(ordered)
        return {"count": count, "median": ordered[count // 2], "p99": ordered[min(count - 1, count * 99 // 100)],
                "p10": ordered[count // 10], "cpu": self.cpu / count}


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
            cpu = cpu_clock()
            for _ in range(turn):
                begin = clock()
                call()
                samples[name].seconds.append(clock() - begin)
            samples[name].cpu += cpu_clock() - cpu
        goes_on[0] = float(clock() < end)
        dist.broadcast(goes_on, src=0, group=control)
    return {name: one.summary() for name, one in samples.items()}


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


def ddp(seconds, hidden, layers, bucket_mb, hook="none", *settings):
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=100))
    everyone = list(range(dist.get_world_size()))
    control = dist.new_group(everyone, backend="gloo")
    options = weft_torch.Options(**dict(setting.split("=") for setting in settings))
    groups = {"gloo": dist.new_group(everyone, backend="gloo"),
              "weft": dist.new_group(everyone, backend="weft", pg_options=options)}
    inputs = torch.randn(64, int(hidden))

    def step_of(name):
        torch.manual_seed(1)
        model = nn.Sequential(*[part for _ in range(int(layers)) for part in (nn.Linear(int(hidden), int(hidden)), nn.ReLU())])
        wrapped = nn.parallel.DistributedDataParallel(model, process_group=groups[name], bucket_cap_mb=float(bucket_mb),
                                                      gradient_as_bucket_view=True)
        if hook == "bf16+weft" or (hook == "bf16" and name == "gloo"):
            from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

            wrapped.register_comm_hook(groups[name], bf16_compress_hook)

        def step():
            wrapped.zero_grad(set_to_none=True)
            wrapped(inputs).square().mean().backward()

        return step

    return {"step": in_turn(seconds, {name: step_of(name) for name in BACKENDS}, control, turn=3)}


def main():
    what, seconds, *rest = sys.argv[1:]
    result = {"operation": operations, "ddp": ddp}[what](float(seconds), *rest)
    if dist.get_rank() == 0:
        print(json.dumps(result), flush=True)
    dist.destroy_process_group()


main()
