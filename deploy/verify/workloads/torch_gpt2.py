# SPDX-License-Identifier: Apache-2.0
"""A model of the size of GPT-2 small, 100 steps of training on random text, mixed precision."""
import torch_setup
import torch
import torch.nn.functional as F

from gpt import VOCABULARY, Gpt
from result import report, timed

BATCH, LENGTH, STEPS, WARM = 8, 512, 100, 20

model = Gpt().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
text = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1)).cuda()
losses = []


def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        scores = model(text[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
    losses.append(torch_setup.descend(optimizer, loss))


for _ in range(WARM):
    step()
seconds = timed(step, STEPS - WARM, torch_setup.wait)
report({"loss": torch.stack(losses).float().cpu()[::10].tolist()}, {"step": seconds}, **torch_setup.versions())
