// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** Shared library that stays open until the process ends. */
public final class SharedLibrary {
  private static final int RTLD_LAZY = 1;
  private static final long MAX_TEXT_BYTES = 4096;
  private static final String NO_FILE = "cannot open shared object file: No such file or directory";

  private SharedLibrary() {}

  /**
   * Opens a library.
   *
   * @param path a path, or a name for the dynamic linker such as {@code libcuda.so.1}
   * @throws FileNotFoundException if there is no such library
   * @throws IOException if it is there and cannot be loaded; with the message of the dynamic linker
   */
  public static SymbolLookup open(String path) throws IOException {
    try {
      return SymbolLookup.libraryLookup(path, Arena.global());
    } catch (IllegalArgumentException e) {
      String problem = problem(path);
      if (problem.equals(path + ": " + NO_FILE)) {
        throw new FileNotFoundException(problem);
      }
      throw new IOException(problem, e);
    }
  }

  /** Fails to open it once more, which the dynamic linker explains. */
  private static String problem(String path) {
    Linker linker = Linker.nativeLinker();
    SymbolLookup system = linker.defaultLookup();
    // Both are bound before the first call: binding opens libraries itself, and clears the error.
    MethodHandle dlopen =
        linker.downcallHandle(
            system.findOrThrow("dlopen"), FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT));
    MethodHandle dlerror =
        linker.downcallHandle(system.findOrThrow("dlerror"), FunctionDescriptor.of(ADDRESS));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ignored =
          (MemorySegment) dlopen.invokeExact(arena.allocateFrom(path), RTLD_LAZY);
      MemorySegment text = (MemorySegment) dlerror.invokeExact();
      return text.equals(MemorySegment.NULL)
          ? path + " cannot be loaded"
          : text.reinterpret(MAX_TEXT_BYTES).getString(0);
    } catch (Throwable e) {
      throw new AssertionError("the dynamic linker could not be called", e);
    }
  }
}
