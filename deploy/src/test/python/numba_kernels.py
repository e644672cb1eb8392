# SPDX-License-Identifier: Apache-2.0
"""Kernels in Numba, whose results are compared with NumPy's.

Arguments: the names of the cases to run; all of them if there are none.
"""
import math
import sys

import numba
import numpy as np
from numba import cuda

TILE = 16
THREADS = 128
values = np.random.default_rng(6)


def same(name, got, wanted, tolerance=1e-5):
    if not np.allclose(got, wanted, rtol=tolerance, atol=tolerance):
        sys.exit(f"numba {name}: FAILED, {got} is not {wanted}")


@cuda.jit
def add_kernel(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def vector():
    x, y = values.random(10_000), values.random(10_000)
    out = cuda.device_array_like(x)
    add_kernel[math.ceil(x.size / THREADS), THREADS](x, y, out)
    same("vector", out.copy_to_host(), x + y, 0)


@cuda.jit
def matmul_kernel(a, b, c):
    left, right = cuda.shared.array((TILE, TILE), numba.float32), cuda.shared.array((TILE, TILE), numba.float32)
    row, column = cuda.grid(2)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    total = numba.float32(0)
    for start in range(0, a.shape[1], TILE):
        left[i, j] = a[row, start + j] if row < a.shape[0] and start + j < a.shape[1] else 0
        right[i, j] = b[start + i, column] if start + i < b.shape[0] and column < b.shape[1] else 0
        cuda.syncthreads()
        for k in range(TILE):
            total += left[i, k] * right[k, j]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def shared():
    a, b = values.random((70, 90), np.float32), values.random((90, 50), np.float32)
    c = cuda.device_array((70, 50), np.float32)
    matmul_kernel[(math.ceil(70 / TILE), math.ceil(50 / TILE)), (TILE, TILE)](a, b, c)
    same("shared", c.copy_to_host(), a @ b, 1e-4)


@cuda.jit
def histogram_kernel(x, bins, highest):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)
        cuda.atomic.max(highest, 0, x[i])


def atomics():
    x = values.integers(0, 40, 20_000, np.int32)
    bins, highest = cuda.to_device(np.zeros(40, np.int32)), cuda.to_device(np.zeros(1, np.int32))
    histogram_kernel[math.ceil(x.size / THREADS), THREADS](x, bins, highest)
    same("atomics", bins.copy_to_host(), np.bincount(x, minlength=40), 0)
    same("atomics, max", highest.copy_to_host(), [x.max()], 0)


@cuda.reduce
def total_of(a, b):
    return a + b


@cuda.jit
def warp_kernel(x, out):
    i = cuda.grid(1)
    value = x[i]
    for distance in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, distance)
    if cuda.laneid == 0:
        out[i // 32] = value


def reductions():
    x = values.random(5000)
    same("reduction", total_of(x), x.sum())
    lanes = values.random(256, np.float32)
    out = cuda.device_array(8, np.float32)
    warp_kernel[2, THREADS](lanes, out)
    same("reduction in a warp", out.copy_to_host(), lanes.reshape(8, 32).sum(1), 1e-4)


@cuda.jit(device=True)
def escape(real, imaginary, most):
    point, c = 0j, complex(real, imaginary)
    for i in range(most):
        point = point * point + c
        if point.real * point.real + point.imag * point.imag >= 4:
            return i
    return most


@cuda.jit
def mandelbrot_kernel(image):
    row, column = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        image[row, column] = escape(-2 + 3 * column / image.shape[1], -1 + 2 * row / image.shape[0], 50)


def mandelbrot():
    image = cuda.device_array((40, 60), np.int32)
    stream = cuda.stream()
    begin, end = cuda.event(), cuda.event()
    begin.record(stream)
    mandelbrot_kernel[(5, 8), (8, 8), stream](image)
    end.record(stream)
    end.synchronize()
    wanted = np.array([[escape.py_func(-2 + 3 * j / 60, -1 + 2 * i / 40, 50) for j in range(60)] for i in range(40)])
    same("mandelbrot", image.copy_to_host(stream=stream), wanted, 0)
    if not begin.elapsed_time(end) >= 0:
        sys.exit("numba mandelbrot: FAILED, its time is negative")


CASES = [vector, shared, atomics, reductions, mandelbrot]

for case in CASES:
    if not sys.argv[1:] or case.__name__ in sys.argv[1:]:
        case()
        print(f"numba {case.__name__}: OK", flush=True)
