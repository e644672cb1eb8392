// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/**
 * A function of the C library.
 *
 * <p>Every one is called with six words and returns one. By the calling conventions of x86-64 and
 * AArch64 a function takes no notice of words beyond those it has, nor of the upper half of an int;
 * an int that it returns is in the lower half. So the JVM makes one piece of code for the calls of
 * all functions, where each signature of its own costs twenty classes at the start of a process.
 *
 * @param handle what calls it
 */
record CFunction(MethodHandle handle) {
  private static final FunctionDescriptor SIX_WORDS =
      FunctionDescriptor.of(
          JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  static CFunction of(String name) {
    return find(name).orElseThrow(() -> new IllegalStateException("no " + name + " in libc"));
  }

  /** The function of that name if this C library has one. */
  static Optional<CFunction> find(String name) {
    Linker linker = Linker.nativeLinker();
    return linker
        .defaultLookup()
        .find(name)
        .map(address -> new CFunction(linker.downcallHandle(address, SIX_WORDS)));
  }

  long call(long a, long b, long c, long d, long e, long f) {
    try {
      return (long) handle.invokeExact(a, b, c, d, e, f);
    } catch (Throwable thrown) {
      throw new IllegalStateException("the C library could not be called", thrown);
    }
  }

  long call(long a, long b, long c) {
    return call(a, b, c, 0, 0, 0);
  }

  /** Calls what returns an int. */
  int callInt(long a, long b, long c, long d) {
    return (int) call(a, b, c, d, 0, 0);
  }
}
