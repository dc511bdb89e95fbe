"""Control groups as inference servers have them: torchrun --nproc-per-node 2 control_groups.py

The workers of a server hold a group for GPUs' tensors, and one on CPUs for decisions of every step: what the scheduler
has chosen is broadcast as an object, and all agree whether to go on. Here the workers make such a group for all, and one
for each pipeline stage."""

import torch
import torch.distributed as dist

dist.init_process_group("weft")
rank, ranks = dist.get_rank(), dist.get_world_size()
everyone = dist.new_group(list(range(ranks)), backend="weft")
stages = [dist.new_group(list(range(first, min(first + 2, ranks))), backend="weft") for first in range(0, ranks, 2)]
stage = stages[rank // 2]

for step in range(100):
    plan = [{"step": step, "sequences": list(range(step % 4 + 1))}] if rank == 0 else [None]
    dist.broadcast_object_list(plan, src=0, group=everyone)
    produced = torch.tensor([len(plan[0]["sequences"])])
    dist.all_reduce(produced, group=stage)
    is_done = torch.tensor([int(step == 99)])
    dist.all_reduce(is_done, op=dist.ReduceOp.MIN, group=everyone)
    if is_done.item():
        break
if rank == 0:
    print("steps: %d, last plan: %s" % (step + 1, plan[0]))
dist.destroy_process_group()
