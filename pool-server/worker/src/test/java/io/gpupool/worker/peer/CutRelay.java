// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import io.gpupool.worker.os.Posix;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A network between two workers that breaks each connection after a random number of bytes, at both
 * ends at once or at one end first, and refuses some of the later ones.
 */
public final class CutRelay {
  private static final int BUFFER_BYTES = 64 << 10;
  private static final int RANDOM_BYTES = PeerAddress.RANDOM_BYTES;
  private static final int HALF_OPEN_MILLIS = 20;

  private final Random random;
  private final int meanBytes;
  private final AtomicInteger cutsLeft;
  private final AtomicInteger connections = new AtomicInteger();

  /**
   * Breaks so many connections.
   *
   * @param meanBytes how much a connection carries before, on average
   */
  public CutRelay(long seed, int cuts, int meanBytes) {
    random = new Random(seed);
    this.meanBytes = meanBytes;
    cutsLeft = new AtomicInteger(cuts);
  }

  /** Returns how many connections there have been. */
  public int connections() {
    return connections.get();
  }

  /** Connects two workers; the one with the later link has asked. */
  public void connect(PeerConnections early, PeerConnections late) {
    boolean refused;
    long carried;
    boolean halfOpen;
    byte[] first = new byte[RANDOM_BYTES];
    byte[] second = new byte[RANDOM_BYTES];
    synchronized (random) {
      random.nextBytes(first);
      random.nextBytes(second);
      boolean cut = cutsLeft.getAndDecrement() > 0;
      refused = random.nextInt(8) == 0 && cut && connections.get() > 0;
      carried = cut ? random.nextInt(2 * meanBytes) : Long.MAX_VALUE;
      halfOpen = random.nextBoolean();
    }
    if (refused) {
      late.refused(0, "no way there", true);
      return;
    }
    connections.incrementAndGet();
    int[] left = Posix.socketPair();
    int[] right = Posix.socketPair();
    AtomicLong bytes = new AtomicLong(carried);
    AtomicInteger pumps = new AtomicInteger(2);
    pump(left[1], right[1], bytes, halfOpen, pumps);
    pump(right[1], left[1], bytes, halfOpen, pumps);
    early.connected(1, left[0], first);
    late.connected(0, right[0], second);
  }

  private static void pump(
      int from, int to, AtomicLong bytes, boolean halfOpen, AtomicInteger pumps) {
    Thread.ofPlatform()
        .daemon()
        .start(() -> {
          long buffer = Posix.map(BUFFER_BYTES);
          while (true) {
            long count = Posix.recv(from, buffer, BUFFER_BYTES, 0);
            long left = bytes.addAndGet(-Math.max(0, count));
            long carried = Math.clamp(count + left, 0, Math.max(0, count));
            if (left >= 0) {
              carried = count;
            }
            if (count <= 0 || Posix.sendAll(to, buffer, carried, false) != 0 || left < 0) {
              break;
            }
          }
          Posix.shutdown(from);
          if (halfOpen) {
            pause();
          }
          Posix.shutdown(to);
          Posix.unmap(buffer, BUFFER_BYTES);
          if (pumps.decrementAndGet() == 0) {
            Posix.close(from);
            Posix.close(to);
          }
        });
  }

  private static void pause() {
    try {
      Thread.sleep(HALF_OPEN_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
