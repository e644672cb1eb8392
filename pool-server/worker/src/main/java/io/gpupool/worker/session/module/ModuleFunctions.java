// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.WireStruct;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The functions of one loaded module. The image tells of them where the backend is a driver, which
 * would load the code of each function that it is asked about; the driver is asked for what the
 * image does not tell.
 */
final class ModuleFunctions {
  /** Longer lists are not fetched with the module. */
  private static final int MAX_LISTED = 1024;

  private final long handle;
  private final FunctionTable table;

  /** The count that the backend tells; null where it does not. */
  private final @Nullable Integer count;

  /** Null where the backend lists them at no cost. */
  private final @Nullable ImageKernels kernels;

  private ModuleFunctions(long handle, FunctionTable table, @Nullable ImageKernels kernels) {
    this.handle = handle;
    this.table = table;
    this.kernels = kernels;
    OptionalInt told = table.count(handle);
    count = told.isPresent() ? told.getAsInt() : null;
    if (count == null && kernels != null) {
      kernels
          .problem()
          .ifPresent(problem ->
              System.err.println(
                  "gpupool worker: cannot list the kernels of an image: " + problem));
    }
  }

  /** Of a module whose image tells of these kernels; the backend tells itself if that is free. */
  static ModuleFunctions of(
      Backend backend, long out, long handle, @Nullable ImageKernels kernels) {
    return new ModuleFunctions(handle, new FunctionTable(backend, out), kernels);
  }

  /** All, in the layout of {@code moduleLoad}; empty if they are too many, or would cost. */
  byte[] all(long limitBytes) {
    boolean free = kernels == null || imageTellsAll();
    if (!free || count() > MAX_LISTED) {
      return new byte[0];
    }
    byte[] list = list(0, limitBytes);
    return entriesIn(list) == count() ? list : new byte[0];
  }

  /** Returns the number of functions, and those from a number on, as many as have room. */
  byte[] from(int first, long limitBytes) {
    byte[] list = limitBytes > Long.BYTES ? list(first, limitBytes - Long.BYTES) : new byte[0];
    return ByteBuffer.allocate(Long.BYTES + list.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(count())
        .put(list)
        .array();
  }

  /** The parameters of one; empty if nobody tells them. */
  Optional<byte[]> parameters(String name, long function) {
    Optional<byte[]> told = kernels == null ? Optional.empty() : kernels.parameters(name);
    return told.isPresent() || !table.tellsParameters(function)
        ? told
        : Optional.of(table.parameters(function));
  }

  private int count() {
    if (count != null) {
      return count;
    }
    return kernels == null ? 0 : kernels.count();
  }

  private boolean imageTellsAll() {
    return kernels != null && kernels.count() == count();
  }

  private byte[] list(int first, long limitBytes) {
    return kernels != null && imageTellsAll()
        ? kernels.list(first, limitBytes)
        : table.list(handle, first, limitBytes);
  }

  private static int entriesIn(byte[] list) {
    ByteBuffer entries = ByteBuffer.wrap(list).order(ByteOrder.LITTLE_ENDIAN);
    int count = 0;
    while (entries.hasRemaining()) {
      int nameBytes = entries.getInt();
      int parameterBytes = 8 * entries.getInt();
      entries.position(entries.position() + WireStruct.padded(nameBytes) + parameterBytes);
      count++;
    }
    return count;
  }
}
