# SPDX-License-Identifier: Apache-2.0
"""Kernels in Triton, whose results are compared with the processor's.

Arguments: the names of the cases to run; all of them if there are none.
PyTorch only allocates and copies here: its own kernels have no PTX.
"""
import math
import sys

import torch
import triton
import triton.language as tl

SEED = 5


def values(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(SEED)).to(dtype)


def empty(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, device="cuda")


def require_close(name, got, wanted, tolerance):
    error = (got.cpu().double() - wanted.double()).abs().max().item()
    if not error <= tolerance:
        sys.exit(f"triton {name}: FAILED, off by {error}")


@triton.jit
def add_kernel(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


def add():
    x, y, out = values(10_000), values(2, 5000).flatten(), empty(10_000)
    add_kernel[(triton.cdiv(10_000, 1024),)](x.cuda(), y.cuda(), out, 10_000, BLOCK=1024)
    require_close("add", out, x + y, 0)


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    line = tl.load(x + row * columns + at, at < columns, -float("inf"))
    power = tl.exp(line - tl.max(line, 0))
    tl.store(out + row * columns + at, power / tl.sum(power, 0), at < columns)


def softmax():
    x, out = values(64, 781), empty(64, 781)
    softmax_kernel[(64,)](x.cuda(), out, 781, BLOCK=1024)
    require_close("softmax", out, torch.softmax(x, 1), 1e-6)


@triton.jit
def layer_norm_kernel(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < columns
    line = tl.load(x + row * columns + at, inside, 0.0)
    mean = tl.sum(line, 0) / columns
    centred = tl.where(inside, line - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + eps)
    result = centred * scale * tl.load(weight + at, inside) + tl.load(bias + at, inside)
    tl.store(out + row * columns + at, result, inside)


def layer_norm():
    x, weight, bias, out = values(32, 300), values(300), values(300), empty(32, 300)
    layer_norm_kernel[(32,)](x.cuda(), weight.cuda(), bias.cuda(), out, 300, 1e-5, BLOCK=512)
    require_close("layer_norm", out, torch.nn.functional.layer_norm(x, (300,), weight, bias), 1e-5)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + inner[None, :], (rows[:, None] < M) & (inner[None, :] < K), 0.0)
        right = tl.load(b + inner[:, None] * N + columns[None, :], (inner[:, None] < K) & (columns[None, :] < N), 0.0)
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total, (rows[:, None] < M) & (columns[None, :] < N))


def matmul(dtype, tolerance):
    m, n, k = 100, 130, 200
    a, b, c = values(m, k, dtype=dtype), values(k, n, dtype=dtype), empty(m, n)
    matmul_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 64))](a.cuda(), b.cuda(), c, m, n, k, BM=32, BN=64, BK=32)
    require_close(f"matmul of {dtype}", c, a.double() @ b.double(), tolerance)


def dot():
    matmul(torch.float16, 1e-4)
    matmul(torch.bfloat16, 1e-4)
    matmul(torch.float32, 0.1)  # as tf32


@triton.jit
def histogram_kernel(x, bins, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + at, at < count, 0), 1, at < count)


def atomics():
    x = torch.randint(0, 50, (20_000,), generator=torch.Generator().manual_seed(SEED), dtype=torch.int32)
    bins = torch.zeros(50, dtype=torch.int32).cuda()
    histogram_kernel[(triton.cdiv(20_000, 512),)](x.cuda(), bins, 20_000, BLOCK=512)
    require_close("atomics", bins, torch.bincount(x, minlength=50), 0)


@triton.jit
def random_kernel(out, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.rand(seed, at))


def random():
    first, second = empty(1 << 16), empty(1 << 16)
    for out in first, second:
        random_kernel[(64,)](out, 11, BLOCK=1024)
    require_close("random, again", first, second.cpu(), 0)
    require_close("random, mean", first.cpu().mean(), torch.tensor(0.5), 0.01)
    require_close("random, variance", first.cpu().var(), torch.tensor(1 / 12), 0.01)


@triton.jit
def scan_kernel(x, sums, best, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    line = tl.load(x + row * BLOCK + at)
    tl.store(sums + row * BLOCK + at, tl.cumsum(line, 0))
    tl.store(best + row, tl.argmax(line, 0))


def scan():
    x, sums, best = values(16, 256), empty(16, 256), empty(16, dtype=torch.int32)
    scan_kernel[(16,)](x.cuda(), sums, best, BLOCK=256)
    require_close("cumsum", sums, x.double().cumsum(1), 1e-4)
    require_close("argmax", best, x.argmax(1), 0)


@triton.jit
def attention_kernel(q, k, v, out, scale, LENGTH: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    head = tl.program_id(1) * LENGTH * WIDTH
    rows, width = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    query = tl.load(q + head + rows[:, None] * WIDTH + width[None, :])
    highest = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    result = tl.zeros((BLOCK, WIDTH), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        key = tl.load(k + head + columns[None, :] * WIDTH + width[:, None])
        score = tl.where(rows[:, None] >= columns[None, :], tl.dot(query, key) * scale, -float("inf"))
        higher = tl.maximum(highest, tl.max(score, 1))
        power = tl.exp(score - higher[:, None])
        fading = tl.exp(highest - higher)
        total = total * fading + tl.sum(power, 1)
        value = tl.load(v + head + columns[:, None] * WIDTH + width[None, :])
        result = tl.dot(power.to(tl.float16), value, result * fading[:, None])
        highest = higher
    tl.store(out + head + rows[:, None] * WIDTH + width[None, :], result / total[:, None])


def attention():
    heads, length, width = 3, 128, 32
    q, k, v = (values(3, heads, length, width, dtype=torch.float16)).unbind(0)
    out, scale = empty(heads, length, width), 1 / math.sqrt(width)
    attention_kernel[(length // 32, heads)](
        q.cuda(), k.cuda(), v.cuda(), out, scale, LENGTH=length, WIDTH=width, BLOCK=32)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), is_causal=True)
    require_close("attention", out, wanted, 5e-3)


CASES = [add, softmax, layer_norm, dot, atomics, random, scan, attention]

for case in CASES:
    if not sys.argv[1:] or case.__name__ in sys.argv[1:]:
        case()
        print(f"triton {case.__name__}: OK", flush=True)
