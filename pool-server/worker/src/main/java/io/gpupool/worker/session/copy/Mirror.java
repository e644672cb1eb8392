// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.cuda.FrameLimits;
import io.gpupool.worker.session.core.ContextState;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/**
 * A range of device memory that the client has a copy of, and what is known of its blocks: the
 * fingerprint of each as it was when both sides had the same. The client sees to it that one call
 * at a time uses it; if two do, some blocks are sent once more, or a change of them is not seen.
 */
final class Mirror {
  static final int MIN_BLOCK_BYTES = 64;
  static final int MAX_BLOCK_BYTES = FrameLimits.MAX_DATA_BYTES;

  final ContextState context;
  final long address;
  final long lengthBytes;

  private final int blockBytes;
  private final long[] prints;

  /** Takes a run of blocks. */
  interface Taker {
    void take(long offset, long address, int lengthBytes);
  }

  /**
   * Nothing is known of its blocks.
   *
   * @param blockBytes a power of two from {@link #MIN_BLOCK_BYTES} to {@link #MAX_BLOCK_BYTES}
   */
  Mirror(ContextState context, long address, long lengthBytes, int blockBytes) {
    this.context = context;
    this.address = address;
    this.lengthBytes = lengthBytes;
    this.blockBytes = blockBytes;
    prints = new long[(int) blocks(lengthBytes, blockBytes)];
  }

  /** Writes it down, apart from its context. */
  void save(DataOutput to) throws IOException {
    to.writeLong(address);
    to.writeLong(lengthBytes);
    to.writeInt(blockBytes);
    for (long print : prints) {
      to.writeLong(print);
    }
  }

  /** Makes it again as it was written down. */
  static Mirror restore(ContextState context, DataInput from) throws IOException {
    Mirror mirror = new Mirror(context, from.readLong(), from.readLong(), from.readInt());
    for (int i = 0; i < mirror.prints.length; i++) {
      mirror.prints[i] = from.readLong();
    }
    return mirror;
  }

  static long blocks(long lengthBytes, int blockBytes) {
    return (lengthBytes + blockBytes - 1) / blockBytes;
  }

  int blocks() {
    return prints.length;
  }

  /** All of it is zero, on both sides. */
  void zeroed(long zeroBlock) {
    Arrays.fill(prints, Fingerprint.of(zeroBlock, blockBytes));
    int last = prints.length - 1;
    prints[last] = Fingerprint.of(zeroBlock, (int) (lengthBytes - (long) last * blockBytes));
  }

  boolean contains(long start, long bytes) {
    long offset = start - address;
    return offset >= 0 && bytes > 0 && bytes <= lengthBytes - offset;
  }

  /** The client has sent these bytes for here; of a block it sends a part of, nothing is known. */
  void written(long start, long data, long bytes) {
    long from = start - address;
    long to = from + bytes;
    for (long block = from / blockBytes; block * blockBytes < to; block++) {
      long at = block * blockBytes;
      int whole = (int) Math.min(blockBytes, lengthBytes - at);
      boolean known = at >= from && at + whole <= to;
      prints[(int) block] = known ? Fingerprint.of(data + at - from, whole) : 0;
    }
  }

  /**
   * Looks at what the device has now, and hands on the runs of blocks that the client has
   * otherwise.
   *
   * @param offset of the piece, a multiple of the block
   * @param piece where its bytes are in this process
   * @param changed a bit a block, set for what is handed on
   */
  void compare(long offset, long piece, int lengthBytes, byte[] changed, Taker taker) {
    int start = -1;
    for (int at = 0; at < lengthBytes; at += blockBytes) {
      int block = (int) ((offset + at) / blockBytes);
      // Taken before the bytes are sent: a change that comes in between is then noticed next time.
      long print = Fingerprint.of(piece + at, Math.min(blockBytes, lengthBytes - at));
      if (print != prints[block]) {
        prints[block] = print;
        changed[block >> 3] |= (byte) (1 << (block & 7));
        if (start < 0) {
          start = at;
        }
      } else if (start >= 0) {
        taker.take(offset + start, piece + start, at - start);
        start = -1;
      }
    }
    if (start >= 0) {
      taker.take(offset + start, piece + start, lengthBytes - start);
    }
  }
}
