// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Memory outside the Java heap for bytes on their way to a device. Whoever closes it must know that
 * nobody uses it any more.
 */
public final class HostBuffer implements AutoCloseable {
  private static final MethodHandle MALLOC =
      handle("malloc", FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
  private static final MethodHandle FREE =
      handle("free", FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));

  private final MemorySegment segment;

  /**
   * Allocates; the contents are arbitrary.
   *
   * @throws GpuException OUT_OF_MEMORY
   */
  public HostBuffer(long lengthBytes) {
    long address;
    try {
      address = (long) MALLOC.invokeExact(lengthBytes);
    } catch (Throwable e) {
      throw new IllegalStateException("malloc could not be called", e);
    }
    if (address == 0) {
      throw new GpuException(
          CudaStatus.OUT_OF_MEMORY, "no host memory to stage " + lengthBytes + " bytes");
    }
    segment = MemorySegment.ofAddress(address).reinterpret(lengthBytes);
  }

  public MemorySegment segment() {
    return segment;
  }

  @Override
  public void close() {
    try {
      FREE.invokeExact(segment.address());
    } catch (Throwable e) {
      throw new IllegalStateException("free could not be called", e);
    }
  }

  private static MethodHandle handle(String name, FunctionDescriptor type) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type);
  }
}
