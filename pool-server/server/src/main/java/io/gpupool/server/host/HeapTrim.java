// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.host;

import io.gpupool.runtime.Timers;

/**
 * A timer that gives back the memory that a burst of requests has left in the heap. An idle server
 * allocates so little that its collector would not run for hours. Owned by the control thread.
 */
public final class HeapTrim {
  static final long LOOK_MILLIS = 60_000;
  static final long SMALL_BYTES = 96L << 20;

  /** A heap of which less than this part is live has room to give. */
  private static final int LIVE_PART = 3;

  /** The collector gives memory back in steps over several collections. */
  private static final int MAX_TRIES = 6;

  private final Timers timers;
  private final Heap heap;
  private long knownBytes;
  private long liveBytes;
  private int tries;

  /** A heap. */
  interface Heap {
    long committedBytes();

    long usedBytes();

    void collect();
  }

  /** For this process. */
  public HeapTrim(Timers timers) {
    this(timers, new OwnHeap());
  }

  HeapTrim(Timers timers, Heap heap) {
    this.timers = timers;
    this.heap = heap;
  }

  /** Begins to look once a minute. */
  public void start() {
    timers.after(LOOK_MILLIS, this::check);
  }

  private void check() {
    long committed = heap.committedBytes();
    if (committed > knownBytes) {
      tries = 0;
      liveBytes = 0;
    }
    // How much of it is live is known after a collection only.
    if (committed > SMALL_BYTES && tries < MAX_TRIES && liveBytes < committed / LIVE_PART) {
      heap.collect();
      tries++;
      liveBytes = heap.usedBytes();
    }
    knownBytes = heap.committedBytes();
    start();
  }

  /** The heap of this process. */
  private static final class OwnHeap implements Heap {
    @Override
    public long committedBytes() {
      return Runtime.getRuntime().totalMemory();
    }

    @Override
    public long usedBytes() {
      return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    @Override
    public void collect() {
      System.gc();
    }
  }
}
