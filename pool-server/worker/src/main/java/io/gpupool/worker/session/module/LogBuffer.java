// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;

/** Memory that the backend writes a log of a just-in-time compilation into. */
final class LogBuffer {
  private static final long MAX_BYTES = 256 << 10;

  private final int capacityBytes;
  private final long address;

  LogBuffer(Arena arena, long wantedBytes) {
    capacityBytes = (int) Math.clamp(wantedBytes, 0, MAX_BYTES);
    address = capacityBytes == 0 ? 0 : arena.allocate(capacityBytes, 8).address();
  }

  /** Tells where the log goes, if there is room for one. */
  void addTo(JitOptions options, boolean info) {
    if (capacityBytes == 0) {
      return;
    }
    if (info) {
      options.infoLog(address, capacityBytes);
    } else {
      options.errorLog(address, capacityBytes);
    }
  }

  byte[] text() {
    int length = 0;
    while (length < capacityBytes && Memory.getByte(address + length) != 0) {
      length++;
    }
    return Memory.bytes(address, length);
  }
}
