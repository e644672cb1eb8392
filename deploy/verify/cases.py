# SPDX-License-Identifier: Apache-2.0
"""The cases: frameworks, CUDA programs, NCCL, nvidia-smi; and the reason why one cannot run here."""
import dataclasses
import os
import pathlib
import re
import subprocess
import sys

import host

WORKLOADS = pathlib.Path(__file__).resolve().parent / "workloads"

# name, script, the Python modules that it needs, tolerance of its numbers
FRAMEWORKS = [
    ("PyTorch MNIST", "torch_mnist.py", ["torch"], 2e-2),
    ("PyTorch ResNet-50, 100 steps", "torch_resnet50.py", ["torch"], 2e-2),
    ("PyTorch GPT-2 small, 100 steps", "torch_gpt2.py", ["torch"], 2e-2),
    ("PyTorch LLM decode", "torch_decode.py", ["torch"], 0),
    ("PyTorch nearest neighbours", "torch_neighbours.py", ["torch", "numpy"], 0),
    ("PyTorch torch.compile", "torch_compile.py", ["torch", "triton"], 1e-3),
    ("Triton kernels", "triton_kernels.py", ["torch", "triton"], 1e-6),
    ("CuPy training", "cupy_training.py", ["cupy"], 1e-4),
    ("JAX training", "jax_training.py", ["jax"], 1e-4),
]

# Lines of a CUDA program that depend on the moment or on the share, not on the result.
PASSING = re.compile(r"\b\d+(\.\d+)? ?(s|ms|us|ns|GB/s|MB/s|MiB|GiB)\b|^device:")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    command: tuple
    kind: str  # of what it prints: "result" (workloads/result.py), "program" (NAME: OK), "smi"
    tolerance: float = 0.0  # relative, of numbers
    gpus: int = 1
    native: bool = True  # whether it can run without gpupool here
    skipped: str = ""  # why it cannot run here


def all_cases(home, programs, work, gpus):
    """Every case, those that cannot run here too; gpus: how many this machine has."""
    native = gpus > 0
    return [*frameworks(native), smi(native), collectives(home, work, gpus), *cuda_programs(home, programs, work, native)]


def frameworks(native):
    for name, script, modules, tolerance in FRAMEWORKS:
        missing = [module for module in modules if not host.has_module(module)]
        why = "not installed: " + ", ".join(missing) if missing else ""
        if not missing and not native:
            why = "no GPU here to compare with"
        yield Case(name, (sys.executable, str(WORKLOADS / script)), "result", tolerance, native=native, skipped=why)


def smi(native):
    command = ("nvidia-smi", "--query-gpu=name,uuid,compute_cap", "--format=csv,noheader")
    return Case("nvidia-smi", command, "smi", native=native, skipped="" if host.tool("nvidia-smi") else "not installed")


def collectives(home, work, gpus):
    """NCCL's results between two GPUs, natively by NVIDIA's library and remotely at the servers."""
    name = "conformance"
    sources = examples(home, "nccl")
    why = "" if gpus >= 2 else f"needs two GPUs here; there {'is one' if gpus else 'is none'}"
    if not why and not (sources and host.tool("gcc") and host.tool("make")):
        why = "not installed: gcc, make"
    if why:
        return Case(name, (), "program", skipped=why)
    out = work / "nccl"
    made = subprocess.run(["make", "-s", "-C", str(sources), f"OUT={out}"], capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit("verify-gpu: examples/nccl cannot be built:\n" + made.stderr)
    return Case(name, (str(out / name), "--ranks", "2", "--cases", "200"), "program", gpus=2)


def examples(home, kind):
    """The folder with the examples of a kind; None if there is none."""
    folders = (home / "share" / "examples" / kind, WORKLOADS.parents[1] / "examples" / kind)
    return next((folder for folder in folders if folder.is_dir()), None)


def cuda_programs(home, given, work, native):
    """The examples, built with nvcc where it is found unless a folder of built ones is given."""
    sources = examples(home, "cuda")
    folder = pathlib.Path(given) if given else None
    if folder is None and sources and host.tool("nvcc") and host.tool("make"):
        folder = build(sources, work)
    if folder and not folder.is_dir():
        sys.exit(f"verify-gpu: --programs {folder} is no folder")
    if folder is None:
        return [Case("CUDA programs", (), "program", skipped="neither nvcc with make nor --programs DIR")]
    return [program_case(path, sources, native) for path in sorted(folder.iterdir()) if is_program(path)]


def is_program(path):
    return path.is_file() and os.access(path, os.X_OK)


def program_case(path, sources, native):
    source = sources / (path.name + ".cu") if sources else None
    two = bool(source and source.is_file() and "// gpus: 2" in source.read_text())
    return Case(path.name, (str(path),), "program", gpus=2 if two else 1, native=native)


def build(sources, work):
    """Builds the examples for the GPUs of this machine, as far as nvcc knows them."""
    out = work / "programs"
    print("building the CUDA programs with nvcc", file=sys.stderr)
    made = subprocess.run(
        ["make", "-s", "-k", f"-j{os.cpu_count()}", "-C", str(sources), f"OUT={out}"], capture_output=True, text=True)
    if made.returncode != 0:
        print(made.stderr, file=sys.stderr)
    folders = sorted(out.glob("*-static"))
    if not folders:
        sys.exit("verify-gpu: no CUDA program could be built; the messages of nvcc are above")
    return folders[0]
