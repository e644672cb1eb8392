# SPDX-License-Identifier: Apache-2.0
"""A small network in JAX, compiled and trained."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

from result import report, timed

STEPS = 200

assert jax.devices()[0].platform == "gpu", f"JAX sees no GPU but {jax.devices()}"
keys = jax.random.split(jax.random.key(7), 4)
inputs = jax.random.normal(keys[0], (4096, 64))
wanted = jnp.sin(inputs @ jax.random.normal(keys[1], (64, 8)) / 8)
state = [jax.random.normal(keys[2], (64, 256)) / 8, jax.random.normal(keys[3], (256, 8)) / 16]
losses = []


@jax.jit
def update(weights):
    def loss(w):
        return jnp.mean((jnp.tanh(inputs @ w[0]) @ w[1] - wanted) ** 2)

    value, gradients = jax.value_and_grad(loss)(weights)
    return value, [w - 0.2 * g for w, g in zip(weights, gradients)]


def step():
    global state
    value, state = update(state)
    losses.append(value)


step()
seconds = timed(step, STEPS, lambda: state[0].block_until_ready())
curve = [float(value) for value in losses[::20]]
assert curve[-1] < curve[0], "the loss does not fall"
report({"loss": curve}, {"step": seconds}, jax=jax.__version__)
