// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.gpupool.worker.os.SharedLibrary;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The driver library that {@link NvidiaBackend} is bound to. Its symbols are found one by one, so
 * that an older driver only lacks what it lacks. One library a process: the binding is made of
 * constants, for speed.
 */
public final class LibCuda {
  private static final Set<String> MISSING = ConcurrentHashMap.newKeySet();
  private static final long MAX_NAME_BYTES = 256;

  private static volatile @Nullable SymbolLookup library;

  /** A struct that is passed by value: a handle for other processes. */
  static final GroupLayout STRUCT_64 =
      MemoryLayout.structLayout(MemoryLayout.sequenceLayout(8, ValueLayout.JAVA_LONG));

  private LibCuda() {}

  /**
   * Opens the library; call before the first use of {@link NvidiaBackend}.
   *
   * @param path a path, or a name for the dynamic linker such as {@code libcuda.so.1}
   * @throws java.io.FileNotFoundException if there is no such library
   * @throws IOException if it cannot be loaded
   */
  public static void open(String path) throws IOException {
    library = SharedLibrary.open(path);
  }

  /** The driver's name of an error, such as {@code CUDA_ERROR_NO_DEVICE}, with its number. */
  public static String errorName(int result) {
    MethodHandle name = bind("cuGetErrorName", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
    if (name != null) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment text = arena.allocate(ADDRESS);
        if ((int) name.invokeExact(result, text) == 0) {
          return text.get(ADDRESS, 0).reinterpret(MAX_NAME_BYTES).getString(0)
              + " ("
              + result
              + ")";
        }
      } catch (Throwable e) {
        throw failed("cuGetErrorName", e);
      }
    }
    return "CUDA error " + result;
  }

  static @Nullable MethodHandle bind(String symbol, FunctionDescriptor descriptor) {
    SymbolLookup opened = library;
    if (opened == null) {
      throw new IllegalStateException("LibCuda.open comes before the first use of NvidiaBackend");
    }
    return opened
        .find(symbol)
        .map(address -> Linker.nativeLinker().downcallHandle(address, descriptor))
        .orElse(null);
  }

  /** The struct at an address. */
  static MemorySegment struct64(long address) {
    return MemorySegment.ofAddress(address).reinterpret(STRUCT_64.byteSize());
  }

  static int missing(String symbol) {
    if (MISSING.add(symbol)) {
      System.err.println("gpupool worker: the driver library has no " + symbol + "; answering 801");
    }
    return CudaResult.NOT_SUPPORTED;
  }

  static AssertionError failed(String symbol, Throwable cause) {
    return new AssertionError("call of " + symbol + " could not be made", cause);
  }
}
