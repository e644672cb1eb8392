# SPDX-License-Identifier: Apache-2.0
"""The three nearest of 100,000 vectors for each of 10,000 others, 2,048 numbers each."""
import torch_setup
import torch

from result import digest, report, timed

KNOWN, ASKED, WIDTH, NEAREST = 100_000, 10_000, 2048, 3

torch.backends.cuda.matmul.allow_tf32 = False
known = torch.randn(KNOWN, WIDTH)
asked = torch.randn(ASKED, WIDTH)
found = []


def search():
    found.clear()
    remote = known.cuda()
    lengths = (remote * remote).sum(1)
    for part in asked.split(1000):
        distances = lengths - 2 * (part.cuda() @ remote.T)
        found.append(distances.topk(NEAREST, 1, largest=False).indices.cpu())


search()
seconds = timed(search, 3, torch_setup.wait)
report({"nearest": digest(torch.cat(found).numpy())}, {"search": seconds}, **torch_setup.versions())
