"""Training with gloo and with weft from the same beginning. usage: training_program.py ddp|fsdp STEPS [ALGORITHM...]

Prints, on each rank, the losses of the last step, and "equal" if those of all steps and the parameters are bitwise equal.
With algorithms of all_reduce: trains with weft alone, with each of them, instead."""

import datetime
import sys

import torch
import torch.distributed as dist
from torch import nn

import weft_torch


def losses_of(wrap, group, steps):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.BatchNorm1d(128), nn.Linear(128, 10))
    wrapped = wrap(model, group)
    optimizer = torch.optim.AdamW(wrapped.parameters(), 1e-3)
    random = torch.Generator().manual_seed(100 + dist.get_rank())
    losses = []
    for _ in range(steps):
        inputs = torch.randn(32, 64, generator=random)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(wrapped(inputs), (inputs[:, 0] > 0).long())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [parameter.to_local() if hasattr(parameter, "to_local") else parameter.detach()
                    for parameter in wrapped.parameters()]


def ddp(model, group):
    return nn.parallel.DistributedDataParallel(model, process_group=group, bucket_cap_mb=0.05)


def fsdp(model, group):
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    mesh = DeviceMesh.from_group(group, "cpu")
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    torch.use_deterministic_algorithms(True)
    wrap, steps, algorithms = {"ddp": ddp, "fsdp": fsdp}[sys.argv[1]], int(sys.argv[2]), sys.argv[3:]
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    everyone = list(range(dist.get_world_size()))

    def with_weft(**settings):
        options = weft_torch.Options(reproducible=True, **settings)
        return losses_of(wrap, dist.new_group(everyone, backend="weft", pg_options=options), steps)

    if algorithms:
        first, *others = [with_weft(algorithms={"allreduce": name}) for name in algorithms]
    else:
        first, others = losses_of(wrap, dist.new_group(everyone, backend="gloo"), steps), [with_weft()]
    for losses, parameters in others:
        same = first[0] == losses and all(map(torch.equal, first[1], parameters))
        largest = max(abs(one - other) for one, other in zip(first[0], losses))
        print("%s losses %.9g %.9g largest difference %.3g" % ("equal" if same else "differ", first[0][-1], losses[-1], largest))
    dist.destroy_process_group()


main()
