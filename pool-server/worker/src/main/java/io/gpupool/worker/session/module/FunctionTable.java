// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.OptionalInt;

/** The reader of a backend's functions of a module and their parameters, in the wire's layout. */
final class FunctionTable {
  private static final int MAX_FUNCTIONS = 1 << 20;
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

  /** Returns how many functions a module has, if the backend can tell. */
  OptionalInt count(long module) {
    Memory.putLong(out, 0);
    return backend.cuModuleGetFunctionCount(out, module) == 0
        ? OptionalInt.of(Math.clamp(Memory.getInt(out), 0, MAX_FUNCTIONS))
        : OptionalInt.empty();
  }

  /** The functions from a number on, as many as have room; none if the backend cannot list them. */
  byte[] list(long module, int first, long limitBytes) {
    int count = count(module).orElse(0);
    ByteArrayOutputStream table = new ByteArrayOutputStream(256);
    try (Arena arena = Arena.ofConfined()) {
      long functions = arena.allocate(8L * Math.max(1, count), 8).address();
      boolean listed =
          first < count && backend.cuModuleEnumerateFunctions(functions, count, module) == 0;
      for (int i = first; listed && i < count; i++) {
        byte[] entry = entry(Memory.getLong(functions + 8L * i));
        listed = entry.length > 0 && table.size() + entry.length <= limitBytes;
        table.write(entry, 0, listed ? entry.length : 0);
      }
    }
    return table.toByteArray();
  }

  /** One function; empty if the backend does not tell its name. */
  private byte[] entry(long function) {
    Memory.putLong(out, 0);
    if (backend.cuFuncGetName(out, function) != 0 || Memory.getLong(out) == 0) {
      return new byte[0];
    }
    return entry(Memory.text(Memory.getLong(out), MAX_NAME_BYTES), parameters(function));
  }

  /** One function: its name, and its parameters as {@link #parameters} gives them. */
  static byte[] entry(String name, byte[] parameters) {
    byte[] encoded = name.getBytes(StandardCharsets.UTF_8);
    ByteBuffer entry =
        ByteBuffer.allocate(8 + WireStruct.padded(encoded.length) + parameters.length)
            .order(ByteOrder.LITTLE_ENDIAN);
    entry.putInt(encoded.length).putInt(parameters.length / 8).put(encoded);
    entry.position(8 + WireStruct.padded(encoded.length)).put(parameters);
    return entry.array();
  }

  /** Returns whether the backend can tell the parameters of functions. */
  boolean tellsParameters(long function) {
    return backend.cuFuncGetParamInfo(function, 0, out, out + 8) != CudaResult.NOT_SUPPORTED;
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
