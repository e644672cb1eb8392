# SPDX-License-Identifier: Apache-2.0
"""ResNet-50, 100 steps of training on random images, mixed precision."""
import torch_setup
import torch
import torch.nn.functional as F
from torch import nn

from result import report, timed

BATCH, STEPS, WARM = 64, 100, 20


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = width * 4
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, stride if block == 0 else 1))
            inputs = width * 4
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


model = resnet50().cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
images = torch.randn(BATCH, 3, 224, 224).cuda().to(memory_format=torch.channels_last)
labels = torch.randint(0, 1000, (BATCH,)).cuda()
losses = []


def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(images), labels)
    losses.append(torch_setup.descend(optimizer, loss))


for _ in range(WARM):
    step()
seconds = timed(step, STEPS - WARM, torch_setup.wait)
report({"loss": torch.stack(losses).float().cpu()[::10].tolist()}, {"step": seconds}, **torch_setup.versions())
