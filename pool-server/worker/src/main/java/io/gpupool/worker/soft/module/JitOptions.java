// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.soft.GpuException;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.Diagnosis;
import java.nio.charset.StandardCharsets;

/**
 * The CUjit_option arrays of a module load, as far as they matter here: where the logs go. An
 * option is an int, its value a pointer-sized word; the sizes are written back.
 */
record JitOptions(int count, long optionsAddress, long valuesAddress) {
  private static final int INFO_LOG_BUFFER = 3;
  private static final int INFO_LOG_BYTES = 4;
  private static final int ERROR_LOG_BUFFER = 5;
  private static final int ERROR_LOG_BYTES = 6;

  void writeInfoLog(String text) {
    write(INFO_LOG_BUFFER, INFO_LOG_BYTES, text);
  }

  /** Writes why an image is refused, and what to do about it. */
  void writeError(GpuException failure) {
    writeErrorLog(
        Diagnosis.of(failure).map(Diagnosis::jitLog).orElse(String.valueOf(failure.getMessage())));
  }

  void writeErrorLog(String text) {
    write(ERROR_LOG_BUFFER, ERROR_LOG_BYTES, text);
  }

  private void write(int bufferOption, int bytesOption, String text) {
    long buffer = valueAddress(bufferOption);
    long capacity = valueAddress(bytesOption);
    if (buffer == 0 || capacity == 0 || Memory.getLong(buffer) == 0) {
      return;
    }
    int capacityBytes = Memory.getInt(capacity);
    int written = 0;
    if (capacityBytes > 0 && !text.isEmpty()) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      int length = Math.min(bytes.length, capacityBytes - 1);
      Memory.put(Memory.getLong(buffer), bytes, length);
      Memory.putByte(Memory.getLong(buffer) + length, 0);
      written = length + 1;
    }
    Memory.putLong(capacity, written);
  }

  private long valueAddress(int option) {
    for (int index = 0; index < count; index++) {
      if (Memory.getInt(optionsAddress + 4L * index) == option) {
        return valuesAddress + 8L * index;
      }
    }
    return 0;
  }
}
