// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.move;

import io.gpupool.cuda.MemoryRange;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.copy.Fingerprint;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The memory of a session as the target of its move has it: a fingerprint of each block that was
 * sent. What has another fingerprint now is sent again. Used by one thread at a time.
 */
final class SentMemory {
  static final int BLOCK_BYTES = 64 << 10;

  /** The most bytes of one message. */
  private static final long MAX_RUN_BYTES = 1 << 20;

  private final MoveChannel channel;
  private final Map<Long, Long> prints = new HashMap<>();
  private long sentBytes;

  SentMemory(MoveChannel channel) {
    this.channel = channel;
  }

  /**
   * Sends what the target does not have of some memory, which nobody changes meanwhile.
   *
   * @return the bytes that were sent
   */
  long send(List<MemoryRange> ranges) throws IOException {
    sentBytes = 0;
    for (MemoryRange range : ranges) {
      send(range.address(), range.address() + range.lengthBytes(), 0);
    }
    return sentBytes;
  }

  /** The same of memory that may change: what is sent, and has the fingerprint, is a copy. */
  long sendWhileChanging(List<MemoryRange> ranges) throws IOException {
    long copy = Posix.map(MAX_RUN_BYTES + BLOCK_BYTES);
    if (copy == 0) {
      throw new IOException("no memory for copies of what is sent");
    }
    sentBytes = 0;
    try {
      for (MemoryRange range : ranges) {
        send(range.address(), range.address() + range.lengthBytes(), copy);
      }
      return sentBytes;
    } finally {
      Posix.unmap(copy, MAX_RUN_BYTES + BLOCK_BYTES);
    }
  }

  private void send(long start, long end, long copy) throws IOException {
    long runStart = start;
    long runPrint = 0;
    for (long at = start; at < end; ) {
      long next = Math.min(end, (at / BLOCK_BYTES + 1) * BLOCK_BYTES);
      int length = (int) (next - at);
      long print = Fingerprint.of(at, length);
      Long known = prints.get(at);
      boolean same = known != null && known == print;
      if (same || at - runStart >= MAX_RUN_BYTES) {
        sendRun(runStart, at, runPrint, copy);
        runStart = same ? next : at;
        runPrint = 0;
      }
      if (!same) {
        if (copy != 0) {
          long place = copy + (at - runStart);
          Memory.copy(at, place, length);
          print = Fingerprint.of(place, length);
        }
        prints.put(at, print);
        runPrint = combine(runPrint, print);
      }
      at = next;
    }
    sendRun(runStart, end, runPrint, copy);
  }

  private void sendRun(long start, long end, long print, long copy) throws IOException {
    if (end > start) {
      long from = copy == 0 ? start : copy;
      channel.send(MoveMessage.Kind.MEMORY, start, print, from, end - start);
      sentBytes += end - start;
    }
  }

  /** Returns the fingerprint that the sender of some bytes told of them, if they are the same. */
  static long printOf(long start, long lengthBytes) {
    long print = 0;
    long end = start + lengthBytes;
    for (long at = start; at < end; ) {
      long next = Math.min(end, (at / BLOCK_BYTES + 1) * BLOCK_BYTES);
      print = combine(print, Fingerprint.of(at, (int) (next - at)));
      at = next;
    }
    return print;
  }

  private static long combine(long print, long next) {
    return print * 31 + next;
  }
}
