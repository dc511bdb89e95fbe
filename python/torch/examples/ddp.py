"""Data-parallel training on CPUs: torchrun --nproc-per-node 2 ddp.py"""

import torch
import torch.distributed as dist

dist.init_process_group("weft")
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    inputs = torch.randn(32, 16, generator=torch.Generator().manual_seed(step * dist.get_world_size() + dist.get_rank()))
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if dist.get_rank() == 0:
    print("loss after 20 steps: %.4f" % loss.item())
dist.destroy_process_group()
