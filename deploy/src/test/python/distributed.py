# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with DistributedDataParallel, as a rank that torchrun has started, and compares the losses
with those of one process on the processor.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

STEPS = 50
BATCH = 64
TOLERANCE = 1e-4


def train(device, rank, ranks):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4)).to(device)
    if ranks > 1:
        net = nn.parallel.DistributedDataParallel(net)
    random = torch.Generator().manual_seed(2)
    share = slice(rank * BATCH // ranks, (rank + 1) * BATCH // ranks)
    x = torch.randn(BATCH, 16, generator=random)[share].to(device)
    y = torch.randn(BATCH, 4, generator=random)[share].to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    curve = []
    for _ in range(STEPS):
        loss = (net(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        if ranks > 1:
            dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        curve.append(mean.item())
    return torch.tensor(curve)


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
own, all_ranks = dist.get_rank(), dist.get_world_size()
there = train("cuda", own, all_ranks)
here = train("cpu", 0, 1)
dist.destroy_process_group()
if not here[-1] < here[0]:
    sys.exit(f"distributed: FAILED, nothing is learned: {here}")
if not (here - there).abs().max() < TOLERANCE:
    sys.exit(f"distributed: FAILED, rank {own} of {all_ranks} has {there}, not {here}")
print(f"distributed: rank {own} of {all_ranks}: OK", flush=True)
