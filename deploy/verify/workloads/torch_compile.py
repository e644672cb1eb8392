# SPDX-License-Identifier: Apache-2.0
"""torch.compile: a model through Inductor and Triton, trained for some steps, against itself uncompiled."""
import torch_setup
import torch
import torch.nn.functional as F
from torch import nn

from result import report, timed

STEPS = 100

model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.LayerNorm(2048), nn.Linear(2048, 64)).cuda()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
inputs, labels = torch.randn(256, 512).cuda(), torch.randint(0, 64, (256,)).cuda()
with torch.no_grad():
    difference = (compiled(inputs) - model(inputs)).abs().max().item()
assert difference < 1e-2, f"compiled and uncompiled differ by {difference}"
losses = []


def step():
    loss = F.cross_entropy(compiled(inputs), labels)
    losses.append(torch_setup.descend(optimizer, loss))


step()
seconds = timed(step, STEPS, torch_setup.wait)
report({"loss": torch.stack(losses).cpu()[::10].tolist()}, {"step": seconds}, **torch_setup.versions())
