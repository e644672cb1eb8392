# SPDX-License-Identifier: Apache-2.0
"""A convolutional network on 60,000 drawn digits, tested on 10,000 others: at least 98 % must be right."""
import time

import torch_setup
import torch
import torch.nn.functional as F
from torch import nn

from digits import draw
from result import report

EPOCHS, BATCH = 3, 128

images, labels = draw(60_000, 1)
test_images, test_labels = draw(10_000, 2)
model = nn.Sequential(
    nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Linear(128, 10),
).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
order = torch.Generator().manual_seed(3)
losses, seconds = [], 0.0
for epoch in range(EPOCHS):
    begin = time.perf_counter()
    shuffled = torch.randperm(len(images), generator=order)
    for batch in shuffled.split(BATCH):
        loss = F.cross_entropy(model(images[batch].cuda()), labels[batch].cuda())
        losses.append(torch_setup.descend(optimizer, loss))
    torch_setup.wait()
    seconds = time.perf_counter() - begin  # of the last one, which is warm
with torch.no_grad():
    right = sum(
        (model(part.cuda()).argmax(1).cpu() == truth).sum().item()
        for part, truth in zip(test_images.split(1000), test_labels.split(1000))
    )
accuracy = right / len(test_images)
assert accuracy >= 0.98, f"only {accuracy:.2%} of the test digits are right"
curve = torch.stack(losses).cpu()[::60].tolist()
report({"loss": curve, "accuracy": accuracy}, {"epoch": seconds}, **torch_setup.versions())
