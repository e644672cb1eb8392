# SPDX-License-Identifier: Apache-2.0
"""PyTorch made to compute the same twice."""
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch

torch.manual_seed(17)
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False
torch.use_deterministic_algorithms(True, warn_only=True)
assert torch.cuda.is_available(), "PyTorch sees no GPU"


def wait():
    torch.cuda.synchronize()


def descend(optimizer, loss):
    """One step against a loss, which comes back without its history; nothing is waited for."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.detach()


def versions():
    return {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0)}
