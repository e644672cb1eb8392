// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.os.Memory;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Asks a backend for the functions of a module and their parameters, in the wire's layout. */
final class FunctionTable {
  private static final int MAX_FUNCTIONS = 1024;
  private static final int MAX_PARAMETERS = 4096;
  private static final int MAX_NAME_BYTES = 64 << 10;

  private final Backend backend;
  private final long out;

  /**
   * Makes a reader.
   *
   * @param out 16 bytes of memory for the backend's answers
   */
  FunctionTable(Backend backend, long out) {
    this.backend = backend;
    this.out = out;
  }

  /** Whether the backend can tell the parameters of functions. */
  boolean isSupported(long module) {
    return backend.cuModuleGetFunctionCount(out, module) != Backend.NOT_SUPPORTED;
  }

  /** All functions; empty if they are too many to list. */
  byte[] ofModule(long module, long limitBytes) {
    Memory.putLong(out, 0);
    if (backend.cuModuleGetFunctionCount(out, module) != 0) {
      return new byte[0];
    }
    int count = Memory.getInt(out);
    if (count <= 0 || count > MAX_FUNCTIONS) {
      return new byte[0];
    }
    try (Arena arena = Arena.ofConfined()) {
      long functions = arena.allocate(8L * count, 8).address();
      if (backend.cuModuleEnumerateFunctions(functions, count, module) != 0) {
        return new byte[0];
      }
      ByteArrayOutputStream table = new ByteArrayOutputStream(256);
      for (int i = 0; i < count; i++) {
        long function = Memory.getLong(functions + 8L * i);
        Memory.putLong(out, 0);
        if (backend.cuFuncGetName(out, function) != 0 || Memory.getLong(out) == 0) {
          return new byte[0];
        }
        String name = Memory.text(Memory.getLong(out), MAX_NAME_BYTES);
        table.writeBytes(entry(name, parameters(function)));
        if (table.size() > limitBytes) {
          return new byte[0];
        }
      }
      return table.toByteArray();
    }
  }

  /** One function: its name, and its parameters as {@link #parameters} gives them. */
  static byte[] entry(String name, byte[] parameters) {
    byte[] encoded = name.getBytes(StandardCharsets.UTF_8);
    ByteBuffer entry =
        ByteBuffer.allocate(8 + Frames.padded(encoded.length) + parameters.length)
            .order(ByteOrder.LITTLE_ENDIAN);
    entry.putInt(encoded.length).putInt(parameters.length / 8).put(encoded);
    entry.position(8 + Frames.padded(encoded.length)).put(parameters);
    return entry.array();
  }

  /** The parameters of a function: {@code u32 offset, u32 size} each. */
  byte[] parameters(long function) {
    ByteBuffer parameters = ByteBuffer.allocate(8 * 16).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < MAX_PARAMETERS; i++) {
      if (backend.cuFuncGetParamInfo(function, i, out, out + 8) != 0) {
        break;
      }
      if (!parameters.hasRemaining()) {
        parameters.flip();
        parameters =
            ByteBuffer.allocate(parameters.limit() * 2)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(parameters);
      }
      parameters.putInt((int) Memory.getLong(out)).putInt((int) Memory.getLong(out + 8));
    }
    return Arrays.copyOf(parameters.array(), parameters.position());
  }
}
