// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import java.util.Arrays;

/**
 * The barrier of a cluster that has one block: threads arrive, and wait for the others later. Owned
 * by the worker thread that runs the block.
 */
final class ClusterBarrier {
  private static final byte AWAY = 0;
  private static final byte ARRIVED = 1;
  private static final byte WAITS = 2;

  /** All have arrived, and the thread has not asked yet. */
  private static final byte PASSED = 3;

  private final Waiting waiting;
  private byte[] places = new byte[0];
  private int arrived;

  ClusterBarrier(Waiting waiting) {
    this.waiting = waiting;
  }

  void begin() {
    Arrays.fill(places, AWAY);
    arrived = 0;
  }

  void arrive(int thread) {
    if (places.length <= thread) {
      places = Arrays.copyOf(places, Math.max(thread + 1, waiting.threads()));
    }
    if (places[thread] != AWAY) {
      // A second arrival before a wait means nothing.
      return;
    }
    places[thread] = ARRIVED;
    arrived++;
    releaseIfComplete();
  }

  /** Returns whether the thread may go on at once. */
  boolean await(int thread) {
    if (thread >= places.length || places[thread] == AWAY) {
      throw new DeviceFault(
          KernelFault.ILLEGAL_INSTRUCTION, "wait at the cluster's barrier without an arrival");
    }
    if (places[thread] == PASSED) {
      places[thread] = AWAY;
      return true;
    }
    places[thread] = WAITS;
    waiting.state(thread, Waiting.AT_BARRIER);
    return false;
  }

  /** A thread ended, which counts as its arrival. */
  void ended(int thread) {
    if (thread < places.length && places[thread] == ARRIVED) {
      arrived--;
    }
    if (thread < places.length) {
      places[thread] = AWAY;
    }
    if (arrived > 0) {
      releaseIfComplete();
    }
  }

  private void releaseIfComplete() {
    if (arrived < waiting.alive()) {
      return;
    }
    for (int thread = 0; thread < places.length; thread++) {
      if (places[thread] == WAITS) {
        places[thread] = AWAY;
        waiting.state(thread, Waiting.READY);
      } else if (places[thread] == ARRIVED) {
        places[thread] = PASSED;
      }
    }
    arrived = 0;
  }
}
