// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** What the JDK cannot do with file descriptors on Linux: bare calls into libc, for any thread. */
public final class Descriptors {
  private static final int F_GETFL = 3;
  private static final int F_SETFL = 4;
  private static final int F_DUPFD_CLOEXEC = 1030;
  private static final int O_NONBLOCK = 04000;
  private static final int MFD_CLOEXEC = 1;

  /*
   * Every function is called with three words, and takes no notice of those that it does not have nor
   * of the upper half of an int, by the calling conventions of x86-64 and AArch64. So the JVM makes
   * one piece of code for all of them.
   */
  private static final Linker LINKER = Linker.nativeLinker();
  private static final FunctionDescriptor THREE_WORDS =
      FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final long ERRNO = STATE.byteOffset(PathElement.groupElement("errno"));
  private static final MethodHandle FCNTL = function("fcntl");
  private static final MethodHandle CLOSE = function("close");
  private static final MethodHandle MEMFD_CREATE = function("memfd_create");
  private static final MethodHandle FTRUNCATE = function("ftruncate");

  private Descriptors() {}

  /** Loads this class, so that the first use is not slow. */
  public static void warmUp() {
    // the static initializer has done it
  }

  /** A second descriptor (close-on-exec) of the same open file or connection. */
  public static int duplicate(int descriptor) throws IOException {
    return call("fcntl", FCNTL, descriptor, F_DUPFD_CLOEXEC, 0);
  }

  /** Switches between blocking and non-blocking; holds for all duplicates. */
  public static void setBlocking(int descriptor, boolean blocking) throws IOException {
    int flags = call("fcntl", FCNTL, descriptor, F_GETFL, 0);
    int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    call("fcntl", FCNTL, descriptor, F_SETFL, wanted);
  }

  /** Closes one descriptor; a connection with other descriptors stays as it is. */
  public static void close(int descriptor) throws IOException {
    call("close", CLOSE, descriptor, 0, 0);
  }

  /** A zeroed file that lives in memory alone, as long as a descriptor or mapping of it does. */
  public static int memoryFile(String name, long lengthBytes) throws IOException {
    int descriptor;
    try (Arena arena = Arena.ofConfined()) {
      descriptor =
          call("memfd_create", MEMFD_CREATE, arena.allocateFrom(name).address(), MFD_CLOEXEC, 0);
    }
    try {
      call("ftruncate", FTRUNCATE, descriptor, lengthBytes, 0);
    } catch (IOException e) {
      close(descriptor);
      throw e;
    }
    return descriptor;
  }

  private static MethodHandle function(String name) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        THREE_WORDS,
        Linker.Option.captureCallState("errno"));
  }

  private static int call(String name, MethodHandle function, long a, long b, long c)
      throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      int result = (int) (long) function.invokeExact(state, a, b, c);
      if (result < 0) {
        throw new IOException(name + " failed: errno " + state.get(ValueLayout.JAVA_INT, ERRNO));
      }
      return result;
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
