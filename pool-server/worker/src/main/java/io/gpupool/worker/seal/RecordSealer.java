// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.security.GeneralSecurityException;
import javax.crypto.Cipher;

/**
 * The sending end of a sealed connection. Used by one thread at a time.
 *
 * <p>The JDK is twice as fast on the heap as outside, so each record passes through it.
 */
final class RecordSealer {
  private static final int BATCH_RECORDS = 8;

  private final RecordKeys keys;
  private final byte[] header = new byte[Records.HEADER_BYTES];
  private final byte[] content = new byte[Records.MAX_CONTENT_BYTES + Records.TYPE_BYTES];
  private final byte[] sealed = new byte[Records.MAX_BYTES];

  /** Freed when this object is. */
  private final MemorySegment memory =
      Arena.ofAuto().allocate((long) BATCH_RECORDS * Records.MAX_BYTES, 64);

  private final long batch = memory.address();

  RecordSealer(RecordKeys keys) {
    this.keys = keys;
  }

  /** Seals and sends all; returns 0, or the negative error of the socket. */
  int sendAll(int fd, long address, long lengthBytes, boolean moreFollows) {
    long at = 0;
    while (at < lengthBytes) {
      int filled = 0;
      for (int record = 0; record < BATCH_RECORDS && at < lengthBytes; record++) {
        int bytes = (int) Math.min(lengthBytes - at, Records.MAX_CONTENT_BYTES);
        filled += seal(address + at, bytes, batch + filled);
        at += bytes;
      }
      int failure = Posix.sendAll(fd, batch, filled, moreFollows || at < lengthBytes);
      if (failure != 0) {
        return failure;
      }
    }
    return 0;
  }

  /** Seals a record; returns its length. */
  int seal(long address, int contentBytes, long to) {
    Records.writeHeader(header, contentBytes);
    Memory.get(address, content, contentBytes);
    content[contentBytes] = Records.TYPE_DATA;
    try {
      Cipher cipher = keys.next(header, Records.HEADER_BYTES);
      int length = cipher.doFinal(content, 0, contentBytes + Records.TYPE_BYTES, sealed, 0);
      Memory.put(to, header, Records.HEADER_BYTES);
      Memory.put(to + Records.HEADER_BYTES, sealed, length);
      return Records.HEADER_BYTES + length;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("a record cannot be sealed", e);
    }
  }
}
