# SPDX-License-Identifier: Apache-2.0
"""Trains a small network for some steps; what it computes is not looked at.

Arguments: cnn or gpt; eager, amp, graphs, loader or compile; the number of steps; if given, the
seconds after which it ends before that.
"""
import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional

MODEL, MODE, STEPS = sys.argv[1], sys.argv[2], int(sys.argv[3])
END = time.monotonic() + (float(sys.argv[4]) if len(sys.argv) > 4 else math.inf)
BATCH = 32


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        heads = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.between(x))))


class Gpt(nn.Module):
    """Predicts the next of 256 letters."""

    def __init__(self, letters=256, length=64, width=64, layers=2, heads=4):
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)
        self.register_buffer("places", torch.arange(length))

    def forward(self, letters):
        return self.head(self.norm(self.blocks(self.letter(letters) + self.place(self.places))))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.1), nn.Linear(32 * 7 * 7, 10))


def examples(count):
    if MODEL == "cnn":
        return torch.randn(count, 1, 28, 28), torch.randint(0, 10, (count,))
    return torch.randint(0, 256, (count, 64)), torch.randint(0, 256, (count, 64))


def batches():
    """So many batches in the GPU's memory as there are steps."""
    if MODE != "loader":
        for _ in range(STEPS):
            if time.monotonic() > END:
                return
            inputs, targets = examples(BATCH)
            yield inputs.cuda(), targets.cuda()
        return
    data = torch.utils.data.TensorDataset(*examples(BATCH * STEPS))
    loader = torch.utils.data.DataLoader(data, BATCH, shuffle=True, num_workers=4, pin_memory=True)
    for inputs, targets in loader:
        assert inputs.is_pinned()
        yield inputs.cuda(non_blocking=True), targets.cuda(non_blocking=True)


def main():
    torch.manual_seed(0)
    model = (cnn() if MODEL == "cnn" else Gpt()).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda", enabled=MODE == "amp")
    call = model
    if MODE == "compile":
        call = torch.compile(model)
    if MODE == "graphs":
        call = torch.cuda.graphs.make_graphed_callables(model, (examples(BATCH)[0].cuda(),))
    done = 0
    for inputs, targets in batches():
        with torch.autocast("cuda", torch.float16, enabled=MODE == "amp"):
            guess = call(inputs)
            loss = functional.cross_entropy(guess.flatten(0, -2), targets.flatten())
        optimizer.zero_grad(set_to_none=MODE != "graphs")
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        done += 1
        if done % 10 == 0:
            loss.item()
    torch.cuda.synchronize()
    assert done == STEPS or time.monotonic() > END, done
    peak = torch.cuda.max_memory_allocated()
    print(f"train {MODEL} {MODE}: OK, {done} steps, peak {peak} bytes", flush=True)


if __name__ == "__main__":
    main()
