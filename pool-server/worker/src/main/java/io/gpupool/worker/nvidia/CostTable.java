// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

/**
 * Costs of operations by what they do: a kernel with its grid and block, an executable graph, a
 * copy of some length. Bounded: operations that are new take the place of others. Guarded by its
 * gate.
 */
final class CostTable {
  private static final int SLOTS = 1 << 12;
  private static final int PROBES = 8;

  private final long[] keys = new long[SLOTS];
  private final Cost[] costs = new Cost[SLOTS];
  private long lastKey = ~0L;
  private Cost last = new Cost();

  /** Returns the cost of an operation, unknown if it is new. */
  Cost of(long key) {
    if (key == lastKey) {
      return last;
    }
    int home = (int) (key >>> 32) & SLOTS - 1;
    int slot = home;
    for (int probe = 0; probe < PROBES; probe++) {
      slot = home + probe & SLOTS - 1;
      if (costs[slot] == null || keys[slot] == key) {
        break;
      }
    }
    if (costs[slot] == null || keys[slot] != key) {
      keys[slot] = key;
      costs[slot] = new Cost();
    }
    lastKey = key;
    last = costs[slot];
    return last;
  }

  /** Starts a key. */
  static long key(Kind kind) {
    return mix(kind.ordinal() + 1L, 0);
  }

  /** Adds to a key. */
  static long mix(long key, long value) {
    long mixed = (key ^ value) * 0x9e3779b97f4a7c15L;
    return mixed ^ mixed >>> 29;
  }

  /** Kinds of operations that take the GPU's time. */
  enum Kind {
    KERNEL,
    GRAPH,
    GRAPH_UPLOAD,
    FILL,
    TO_DEVICE,
    TO_HOST,
    ON_DEVICE,
    COLLECTIVE
  }
}
