// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

/** Time that an operation takes on the GPU, learned from earlier ones. Guarded by its gate. */
final class Cost {
  private static final double UNKNOWN = -1;
  private static final double LATEST = 0.5;

  private double nanos = UNKNOWN;

  boolean isKnown() {
    return nanos >= 0;
  }

  /** Returns nanoseconds; the given ones if the cost is not known yet. */
  long nanosOr(long unknownNanos) {
    return nanos < 0 ? unknownNanos : (long) nanos;
  }

  /** Learns that one took so long. */
  void learn(double measuredNanos) {
    nanos = nanos < 0 ? measuredNanos : nanos + (measuredNanos - nanos) * LATEST;
  }

  /** Learns that one took no longer, perhaps less. */
  void learnAtMost(double boundNanos) {
    if (nanos > boundNanos || nanos < 0) {
      learn(boundNanos);
    }
  }

  /** Learns from operations that together took so many times what was expected of them. */
  void learnRatio(double ratio) {
    nanos += nanos * (ratio - 1) * LATEST;
  }
}
