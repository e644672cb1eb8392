// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.move;

import io.gpupool.cuda.MemoryRange;
import io.gpupool.cuda.MemoryWindow;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.copy.Fingerprint;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a session as the target of its move has it: a fingerprint of each block that was
 * sent. What has another fingerprint now is sent again. Used by one thread at a time.
 */
final class SentMemory implements AutoCloseable {
  static final int BLOCK_BYTES = 64 << 10;

  /** The most bytes of one message. */
  static final int MAX_RUN_BYTES = 1 << 20;

  private final MoveChannel channel;
  private final Supplier<MemoryWindow> windows;
  private final Map<Long, Long> prints = new HashMap<>();
  private @Nullable MemoryWindow window;

  /** The blocks of a range that are sent with one message, and where their bytes are. */
  private long runStart;

  private long runEnd;
  private long runBytesAt;
  private long runPrint;
  private long sentBytes;

  /**
   * Nothing is sent yet.
   *
   * @param windows opens a window onto the session's memory, once that is needed
   */
  SentMemory(MoveChannel channel, Supplier<MemoryWindow> windows) {
    this.channel = channel;
    this.windows = windows;
  }

  private MemoryWindow window() {
    if (window == null) {
      window = windows.get();
    }
    return window;
  }

  @Override
  public void close() {
    if (window != null) {
      window.close();
      window = null;
    }
  }

  /** Sends what the target does not have of some memory, which nobody changes meanwhile. */
  void send(List<MemoryRange> ranges) throws IOException {
    if (window().inPlace()) {
      sendChanged(blocks(ranges), 0);
    } else {
      sendStaged(ranges, false);
    }
  }

  /**
   * Sends what has changed, from copies.
   *
   * @param mayGo whether memory may have been freed, which the target then need not have
   */
  private void sendStaged(List<MemoryRange> ranges, boolean mayGo) throws IOException {
    for (List<Block> stretch : stretches(blocks(ranges))) {
      Block first = stretch.getFirst();
      Block last = stretch.getLast();
      long place = window().read(first.address, last.end() - first.address);
      if (place != 0) {
        sendChanged(stretch, place - first.address);
      } else if (!mayGo) {
        throw new IOException(
            "memory of the session at 0x%x cannot be read".formatted(first.address));
      }
    }
  }

  /**
   * Sends blocks that have changed.
   *
   * @param shift from their addresses to where their bytes are
   */
  private void sendChanged(List<Block> blocks, long shift) throws IOException {
    // The program waits: as many processors look as there are.
    long[] now = blocks.parallelStream().mapToLong(block -> block.print(shift)).toArray();
    for (int i = 0; i < now.length; i++) {
      if (differs(blocks.get(i), now[i])) {
        begin(blocks.get(i), blocks.get(i).address + shift);
        add(blocks.get(i), now[i]);
      }
    }
    sendRun();
  }

  /**
   * Sends what the target does not have of some memory that may change: what is sent, and has the
   * fingerprint, is a copy.
   *
   * @return the bytes that were sent
   */
  long sendWhileChanging(List<MemoryRange> ranges) throws IOException {
    sentBytes = 0;
    if (window().inPlace()) {
      sendCopies(ranges);
    } else {
      sendStaged(ranges, true);
    }
    return sentBytes;
  }

  private void sendCopies(List<MemoryRange> ranges) throws IOException {
    long copy = Posix.map(MAX_RUN_BYTES);
    if (copy == 0) {
      throw new IOException("no memory for copies of what is sent");
    }
    try {
      for (Block block : blocks(ranges)) {
        if (differs(block, block.print(0))) {
          begin(block, copy);
          long place = copy + (runEnd - runStart);
          Memory.copy(block.address, place, block.lengthBytes);
          add(block, Fingerprint.of(place, block.lengthBytes));
        }
      }
      sendRun();
    } finally {
      Posix.unmap(copy, MAX_RUN_BYTES);
    }
  }

  /**
   * Returns the fingerprint that the sender of some bytes told of them, if they are the same.
   *
   * @param start their address
   * @param place where they are
   */
  static long printOf(long start, long place, long lengthBytes) {
    long print = 0;
    long end = start + lengthBytes;
    for (long at = start; at < end; ) {
      long next = Math.min(end, (at / BLOCK_BYTES + 1) * BLOCK_BYTES);
      print = combine(print, Fingerprint.of(at - start + place, (int) (next - at)));
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
    long end() {
      return address + lengthBytes;
    }

    long print(long shift) {
      return Fingerprint.of(address + shift, lengthBytes);
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

  /** Blocks of one range each, as many as a window shows at a time. */
  private static List<List<Block>> stretches(List<Block> blocks) {
    List<List<Block>> stretches = new ArrayList<>();
    int from = 0;
    for (int i = 1; i <= blocks.size(); i++) {
      boolean ends =
          i == blocks.size()
              || blocks.get(i).first
              || blocks.get(i).end() - blocks.get(from).address > MemoryWindow.MAX_BYTES;
      if (ends) {
        stretches.add(blocks.subList(from, i));
        from = i;
      }
    }
    return stretches;
  }

  private boolean differs(Block block, long print) {
    Long known = prints.get(block.address);
    return known == null || known != print;
  }

  /**
   * Sends the blocks before one that cannot go with them.
   *
   * @param bytesAt where its bytes are, if it is the first of the next ones
   */
  private void begin(Block block, long bytesAt) throws IOException {
    boolean continues =
        block.address == runEnd && !block.first && block.end() - runStart <= MAX_RUN_BYTES;
    if (!continues) {
      sendRun();
      runStart = block.address;
      runEnd = block.address;
      runBytesAt = bytesAt;
    }
  }

  private void add(Block block, long print) {
    prints.put(block.address, print);
    runEnd = block.end();
    runPrint = combine(runPrint, print);
  }

  /** Sends the blocks that go together. */
  private void sendRun() throws IOException {
    if (runEnd > runStart) {
      channel.requireNoFailure();
      channel.send(MoveMessage.Kind.MEMORY, runStart, runPrint, runBytesAt, runEnd - runStart);
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
