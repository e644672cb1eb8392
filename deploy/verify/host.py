# SPDX-License-Identifier: Apache-2.0
"""This machine: its GPU, Python packages and tools."""
import importlib.util
import pathlib
import platform
import shutil
import subprocess
import sys


def native_gpus():
    """Returns how many GPUs the driver of this machine, not gpupool's, finds; asks in a process of its own."""
    ask = "import ctypes; d = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int(); assert d.cuInit(0) == 0 and d.cuDeviceGetCount(ctypes.byref(n)) == 0; print(n.value)"
    told = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    return int(told.stdout) if told.returncode == 0 else 0


def has_module(name):
    return importlib.util.find_spec(name) is not None


def tool(name):
    """Path of a program, or None."""
    found = shutil.which(name)
    return pathlib.Path(found) if found else None


def versions():
    """The software and hardware that the results depend on, a line each."""
    lines = [f"{platform.system()} {platform.release()}, Python {platform.python_version()}"]
    smi = tool("nvidia-smi")
    if smi:
        asked = subprocess.run(
            [smi, "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], capture_output=True, text=True)
        lines += [f"native: {line}" for line in asked.stdout.splitlines()]
    nvcc = tool("nvcc")
    if nvcc:
        told = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
        lines += [line.strip() for line in told.splitlines() if "release" in line]
    return lines
