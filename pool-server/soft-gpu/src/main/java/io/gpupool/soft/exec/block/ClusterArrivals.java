// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import java.util.Arrays;

/**
 * The positions of the threads of one block at the barrier of their cluster: they arrive first, and
 * wait for the others later. Owned by the worker thread that runs the cluster.
 */
final class ClusterArrivals {
  private static final byte AWAY = 0;
  private static final byte ARRIVED = 1;
  private static final byte WAITS = 2;

  /** All have arrived, and the thread has not asked yet. */
  private static final byte PASSED = 3;

  private final ThreadScheduler scheduler;

  @SuppressWarnings("NullAway.Init")
  private ClusterBarrier barrier;

  private byte[] places = new byte[0];
  private int waiters;
  private boolean ended;

  ClusterArrivals(ThreadScheduler scheduler) {
    this.scheduler = scheduler;
  }

  void barrier(ClusterBarrier newBarrier) {
    barrier = newBarrier;
  }

  void begin() {
    Arrays.fill(places, AWAY);
    waiters = 0;
    ended = false;
  }

  /** Whether a thread waits, so that another block may let it go on. */
  boolean isWaitedFor() {
    return waiters > 0;
  }

  /** Threads that have not ended. */
  int alive() {
    return ended ? 0 : scheduler.alive();
  }

  void arrive(int thread) {
    if (places.length <= thread) {
      places = Arrays.copyOf(places, Math.max(thread + 1, scheduler.threads()));
    }
    if (places[thread] != AWAY) {
      // A second arrival before a wait means nothing.
      return;
    }
    places[thread] = ARRIVED;
    barrier.arrived();
  }

  /** Returns whether the thread may go on at once. */
  boolean await(int thread) {
    if (thread >= places.length || places[thread] == AWAY) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_INSTRUCTION,
          "wait at the cluster's barrier without an arrival");
    }
    if (places[thread] == PASSED) {
      places[thread] = AWAY;
      return true;
    }
    places[thread] = WAITS;
    waiters++;
    scheduler.state(thread, ThreadScheduler.AT_BARRIER);
    return false;
  }

  /** A thread ended, which counts as its arrival. */
  void ended(int thread) {
    boolean arrived = thread < places.length && places[thread] == ARRIVED;
    if (thread < places.length) {
      places[thread] = AWAY;
    }
    barrier.threadEnded(arrived);
  }

  /** All threads have ended; returns how many of them had arrived since the last release. */
  int end() {
    ended = true;
    int arrived = 0;
    for (int thread = 0; thread < places.length; thread++) {
      if (places[thread] == ARRIVED) {
        arrived++;
        places[thread] = AWAY;
      }
    }
    return arrived;
  }

  void release() {
    waiters = 0;
    boolean woken = false;
    for (int thread = 0; thread < places.length; thread++) {
      if (places[thread] == WAITS) {
        places[thread] = AWAY;
        scheduler.state(thread, ThreadScheduler.READY);
        woken = true;
      } else if (places[thread] == ARRIVED) {
        places[thread] = PASSED;
      }
    }
    if (woken) {
      scheduler.wake();
    }
  }
}
