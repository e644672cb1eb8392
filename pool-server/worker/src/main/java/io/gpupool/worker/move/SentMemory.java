// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.move;

import io.gpupool.cuda.MemoryRange;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.copy.Fingerprint;
import java.io.IOException;
import java.util.ArrayList;
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
  private static final int MAX_RUN_BYTES = 1 << 20;

  private final MoveChannel channel;
  private final Map<Long, Long> prints = new HashMap<>();

  /** The blocks of a range that are sent with one message. */
  private long runStart;

  private long runEnd;
  private long runPrint;
  private long sentBytes;

  SentMemory(MoveChannel channel) {
    this.channel = channel;
  }

  /** Sends what the target does not have of some memory, which nobody changes meanwhile. */
  void send(List<MemoryRange> ranges) throws IOException {
    List<Block> blocks = blocks(ranges);
    // The program waits: as many processors look as there are.
    long[] now = blocks.parallelStream().mapToLong(Block::print).toArray();
    for (int i = 0; i < now.length; i++) {
      if (differs(blocks.get(i), now[i])) {
        begin(blocks.get(i), 0);
        add(blocks.get(i), now[i]);
      }
    }
    sendRun(0);
  }

  /**
   * Sends what the target does not have of some memory that may change: what is sent, and has the
   * fingerprint, is a copy.
   *
   * @return the bytes that were sent
   */
  long sendWhileChanging(List<MemoryRange> ranges) throws IOException {
    long copy = Posix.map(MAX_RUN_BYTES);
    if (copy == 0) {
      throw new IOException("no memory for copies of what is sent");
    }
    sentBytes = 0;
    try {
      for (Block block : blocks(ranges)) {
        if (differs(block, block.print())) {
          begin(block, copy);
          long place = copy + (runEnd - runStart);
          Memory.copy(block.address, place, block.lengthBytes);
          add(block, Fingerprint.of(place, block.lengthBytes));
        }
      }
      sendRun(copy);
      return sentBytes;
    } finally {
      Posix.unmap(copy, MAX_RUN_BYTES);
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

  /**
   * A piece of memory with a fingerprint of its own.
   *
   * @param first whether it is the first one of its range
   */
  private record Block(long address, int lengthBytes, boolean first) {
    long print() {
      return Fingerprint.of(address, lengthBytes);
    }
  }

  private static List<Block> blocks(List<MemoryRange> ranges) {
    List<Block> blocks = new ArrayList<>();
    for (MemoryRange range : ranges) {
      long end = range.address() + range.lengthBytes();
      for (long at = range.address(); at < end; ) {
        long next = Math.min(end, (at / BLOCK_BYTES + 1) * BLOCK_BYTES);
        blocks.add(new Block(at, (int) (next - at), at == range.address()));
        at = next;
      }
    }
    return blocks;
  }

  private boolean differs(Block block, long print) {
    Long known = prints.get(block.address);
    return known == null || known != print;
  }

  /** Sends the blocks before one that cannot go with them. */
  private void begin(Block block, long copy) throws IOException {
    boolean continues =
        block.address == runEnd
            && !block.first
            && block.address + block.lengthBytes - runStart <= MAX_RUN_BYTES;
    if (!continues) {
      sendRun(copy);
      runStart = block.address;
      runEnd = block.address;
    }
  }

  private void add(Block block, long print) {
    prints.put(block.address, print);
    runEnd = block.address + block.lengthBytes;
    runPrint = combine(runPrint, print);
  }

  /**
   * Sends the blocks that go together.
   *
   * @param copy where their bytes were copied to; 0: they are where they were
   */
  private void sendRun(long copy) throws IOException {
    if (runEnd > runStart) {
      long from = copy == 0 ? runStart : copy;
      channel.send(MoveMessage.Kind.MEMORY, runStart, runPrint, from, runEnd - runStart);
      sentBytes += runEnd - runStart;
    }
    runStart = 0;
    runEnd = 0;
    runPrint = 0;
  }

  private static long combine(long print, long next) {
    return print * 31 + next;
  }
}
