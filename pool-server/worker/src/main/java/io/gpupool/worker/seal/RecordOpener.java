// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.security.GeneralSecurityException;
import javax.crypto.Cipher;

/**
 * The receiving end of a sealed connection. Nothing of a record is handed out before all of it was
 * found to be what was sealed. Used by one thread at a time.
 */
final class RecordOpener {
  private static final int RECEIVE_BYTES = 256 << 10;

  private final RecordKeys keys;
  private final byte[] header = new byte[Records.HEADER_BYTES];
  private final byte[] sealed = new byte[Records.MAX_BYTES];
  private final byte[] content = new byte[Records.MAX_BYTES];

  /** Freed when this object is. */
  private final MemorySegment memory = Arena.ofAuto().allocate(RECEIVE_BYTES, 64);

  private final long received = memory.address();

  /** The length of the part of a record that has come. */
  private int partBytes;

  private boolean altered;

  RecordOpener(RecordKeys keys) {
    this.keys = keys;
  }

  /**
   * Receives and opens records.
   *
   * @param roomBytes nothing is received if a whole record might not have room
   * @return the length of their content, 0 at the end, or a negative error: EBADMSG for good if one
   *     was altered
   */
  long receive(int fd, long address, long roomBytes, int flags) {
    long opened = altered ? -Posix.EBADMSG : 0;
    while (opened == 0) {
      if (roomBytes < Records.MAX_BYTES) {
        return -Posix.EAGAIN;
      }
      long most = Math.min(RECEIVE_BYTES, roomBytes) - partBytes;
      long result = Posix.recv(fd, received + partBytes, most, flags);
      if (result <= 0) {
        return result;
      }
      partBytes += (int) result;
      opened = openAll(address);
    }
    return opened;
  }

  private long openAll(long address) {
    int at = 0;
    long opened = 0;
    while (partBytes - at >= Records.HEADER_BYTES) {
      Memory.get(received + at, header, Records.HEADER_BYTES);
      int follow = Records.following(header);
      if (follow >= 0 && partBytes - at < Records.HEADER_BYTES + follow) {
        break;
      }
      int length = follow < 0 ? -1 : open(received + at, follow, address + opened);
      if (length < 0) {
        altered = true;
        return -Posix.EBADMSG;
      }
      opened += length;
      at += Records.HEADER_BYTES + follow;
    }
    partBytes -= at;
    Memory.copy(received + at, received, partBytes);
    return opened;
  }

  /** Opens a record with this header; returns the length of its content, or -1. */
  private int open(long record, int follow, long to) {
    Memory.get(record + Records.HEADER_BYTES, sealed, follow);
    try {
      Cipher cipher = keys.next(header, Records.HEADER_BYTES);
      int length = cipher.doFinal(sealed, 0, follow, content, 0) - Records.TYPE_BYTES;
      // No record is padded.
      if (content[length] != Records.TYPE_DATA) {
        return -1;
      }
      Memory.put(to, content, length);
      return length;
    } catch (GeneralSecurityException e) {
      return -1;
    }
  }
}
