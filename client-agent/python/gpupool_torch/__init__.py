# SPDX-License-Identifier: Apache-2.0
"""PyTorch on software GPUs: operations whose CUDA kernels carry no PTX are computed by the processor.

PyTorch loads this module at the end of ``import torch`` (entry point ``torch.backends``), because ``gpupool run``
puts it on ``PYTHONPATH`` for programs on software GPUs that have ``GPUPOOL_TORCH_FALLBACK=cpu`` in their environment.
"""
import os

VARIABLE = "GPUPOOL_TORCH_FALLBACK"


def autoload():
    """Registers the fallback if the environment asks for it; raises ValueError for a value that it does not know."""
    value = os.environ.get(VARIABLE, "")
    if value == "cpu":
        from gpupool_torch import fallback

        fallback.register()
    elif value:
        raise ValueError(f"{VARIABLE} is '{value}'; it can be 'cpu' or empty")
