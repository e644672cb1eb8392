// SPDX-License-Identifier: Apache-2.0
package io.gpupool.nvml;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Functions of {@code libnvidia-ml.so.1}, called by name with words. What a driver's library lacks
 * answers {@link #FUNCTION_NOT_FOUND}. Any thread.
 */
final class LibNvml {
  static final int SUCCESS = 0;
  static final int TIMEOUT = 10;
  static final int FUNCTION_NOT_FOUND = 13;
  static final int GPU_IS_LOST = 15;

  /*
   * As for system calls (worker.os.Posix): by the calling conventions of x86-64 and AArch64 a function
   * takes no notice of words beyond those it has, nor of the upper half of an int.
   */
  private static final int MAX_WORDS = 5;
  private static final FunctionDescriptor WORDS =
      FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private final SymbolLookup library;
  private final Map<String, MethodHandle> functions = new ConcurrentHashMap<>();
  private final MethodHandle missing =
      MethodHandles.dropArguments(
          MethodHandles.constant(int.class, FUNCTION_NOT_FOUND),
          0,
          WORDS.toMethodType().parameterArray());

  /**
   * Opens it.
   *
   * @param path a path, or a name for the dynamic linker
   * @throws IllegalArgumentException if it cannot be opened
   */
  LibNvml(String path) {
    library = SymbolLookup.libraryLookup(path, Arena.global());
  }

  /** Calls a function; the result is an {@code nvmlReturn_t}. */
  int call(String function, long... words) {
    long[] all = Arrays.copyOf(words, MAX_WORDS);
    try {
      return (int)
          functions
              .computeIfAbsent(function, this::bind)
              .invokeExact(all[0], all[1], all[2], all[3], all[4]);
    } catch (Throwable e) {
      throw new AssertionError("call of " + function + " could not be made", e);
    }
  }

  private MethodHandle bind(String function) {
    return library
        .find(function)
        .map((MemorySegment address) -> Linker.nativeLinker().downcallHandle(address, WORDS))
        .orElse(missing);
  }
}
