# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on pictures it makes itself, and prints the loss. Run it natively and through a pool: the same."""
import time

import torch

torch.manual_seed(7)
device = torch.device("cuda")
print("device:", torch.cuda.get_device_name(0))

prototypes = torch.rand(10, 784)
labels = torch.randint(0, 10, (8192,))
images = (prototypes[labels] + 0.35 * torch.randn(8192, 784)).to(device)
labels = labels.to(device)
network = torch.nn.Sequential(
    torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).to(device)
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
loss_of = torch.nn.CrossEntropyLoss()

start = time.time()
for step in range(200):
    batch = slice(step % 32 * 256, step % 32 * 256 + 256)
    optimizer.zero_grad()
    loss = loss_of(network(images[batch]), labels[batch])
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.5f}")
torch.cuda.synchronize()
seconds = time.time() - start
right = (network(images).argmax(1) == labels).float().mean().item()
print(f"accuracy {right:.4f}, {seconds / 200 * 1e3:.2f} ms a step")
assert right > 0.95, right
