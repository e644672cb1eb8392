# SPDX-License-Identifier: Apache-2.0
"""Logistic regression in CuPy, with a kernel of the program's own, on points that a plane separates."""
import cupy

from result import report, timed

COUNT, WIDTH, STEPS = 200_000, 64, 200

sigmoid = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 1.0f / (1.0f + expf(-x))", "sigmoid")
random = cupy.random.RandomState(5)
points = random.standard_normal((COUNT, WIDTH), dtype=cupy.float32)
plane = random.standard_normal(WIDTH, dtype=cupy.float32)
labels = (points @ plane > 0).astype(cupy.float32)
weights = cupy.zeros(WIDTH, dtype=cupy.float32)


def step():
    error = sigmoid(points @ weights) - labels
    weights[:] -= 2.0 / COUNT * (points.T @ error)


step()
seconds = timed(step, STEPS, cupy.cuda.Device().synchronize)
right = float(((points @ weights > 0) == (labels > 0)).mean())
assert right > 0.95, f"only {right:.1%} of the points are on their side"
report({"right": right, "weights": weights.get()[:16].tolist()}, {"step": seconds}, cupy=cupy.__version__)
