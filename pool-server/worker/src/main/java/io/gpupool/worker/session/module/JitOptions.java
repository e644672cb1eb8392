// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;

/** The options of one module load: the client's plain ones, and buffers for the logs. */
final class JitOptions {
  static final int ENTRY_BYTES = 16;
  private static final int MAX_OPTIONS = 64;
  private static final int INFO_LOG = 3;
  private static final int INFO_LOG_BYTES = 4;
  private static final int ERROR_LOG = 5;
  private static final int ERROR_LOG_BYTES = 6;

  /** CUjit_option values whose option value is a number: the others are pointers, or outputs. */
  private static final long PLAIN =
      bits(0, 1, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 21, 22, 23, 24, 29, 30, 31, 32, 33);

  final long keys;
  final long values;
  int count;

  /**
   * Takes the options that the client may set.
   *
   * @param options entries of {@code u32 option, u32 0, u64 value}
   */
  JitOptions(Arena arena, WireStruct options) {
    keys = arena.allocate(4L * (MAX_OPTIONS + 4), 8).address();
    values = arena.allocate(8L * (MAX_OPTIONS + 4), 8).address();
    long entries = Math.min(options.lengthBytes() / ENTRY_BYTES, MAX_OPTIONS);
    for (long i = 0; i < entries; i++) {
      int option = options.i32(i * ENTRY_BYTES);
      if (option >= 0 && option < Long.SIZE && (PLAIN >>> option & 1) != 0) {
        add(option, options.u64(i * ENTRY_BYTES + 8));
      }
    }
  }

  void infoLog(long address, int lengthBytes) {
    add(INFO_LOG, address);
    add(INFO_LOG_BYTES, lengthBytes);
  }

  void errorLog(long address, int lengthBytes) {
    add(ERROR_LOG, address);
    add(ERROR_LOG_BYTES, lengthBytes);
  }

  private void add(int option, long value) {
    Memory.putInt(keys + 4L * count, option);
    Memory.putLong(values + 8L * count, value);
    count++;
  }

  private static long bits(int... options) {
    long bits = 0;
    for (int option : options) {
      bits |= 1L << option;
    }
    return bits;
  }
}
