// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/** What the JDK cannot do with file descriptors on Linux: bare calls into libc, for any thread. */
public final class Descriptors {
  private static final int F_GETFL = 3;
  private static final int F_SETFL = 4;
  private static final int F_DUPFD_CLOEXEC = 1030;
  private static final int O_NONBLOCK = 04000;
  private static final int MFD_CLOEXEC = 1;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final MethodHandle FCNTL =
      function("fcntl", 2, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT);
  private static final MethodHandle CLOSE = function("close", -1, ValueLayout.JAVA_INT);
  private static final MethodHandle MEMFD_CREATE =
      function("memfd_create", -1, ValueLayout.ADDRESS, ValueLayout.JAVA_INT);
  private static final MethodHandle FTRUNCATE =
      function("ftruncate", -1, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG);

  private Descriptors() {}

  /** Loads this class, so that the first use is not slow. */
  public static void warmUp() {
    // the static initializer has done it
  }

  /** A second descriptor (close-on-exec) of the same open file or connection. */
  public static int duplicate(int descriptor) throws IOException {
    return call("fcntl", state -> (int) FCNTL.invokeExact(state, descriptor, F_DUPFD_CLOEXEC, 0));
  }

  /** Switches between blocking and non-blocking; holds for all duplicates. */
  public static void setBlocking(int descriptor, boolean blocking) throws IOException {
    int flags = call("fcntl", state -> (int) FCNTL.invokeExact(state, descriptor, F_GETFL, 0));
    int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    call("fcntl", state -> (int) FCNTL.invokeExact(state, descriptor, F_SETFL, wanted));
  }

  /** Closes one descriptor; a connection with other descriptors stays as it is. */
  public static void close(int descriptor) throws IOException {
    call("close", state -> (int) CLOSE.invokeExact(state, descriptor));
  }

  /** A zeroed file that lives in memory alone, as long as a descriptor or mapping of it does. */
  public static int memoryFile(String name, long lengthBytes) throws IOException {
    int descriptor =
        call(
            "memfd_create",
            state -> {
              try (Arena arena = Arena.ofConfined()) {
                return (int) MEMFD_CREATE.invokeExact(state, arena.allocateFrom(name), MFD_CLOEXEC);
              }
            });
    try {
      call("ftruncate", state -> (int) FTRUNCATE.invokeExact(state, descriptor, lengthBytes));
    } catch (IOException e) {
      close(descriptor);
      throw e;
    }
    return descriptor;
  }

  private static MethodHandle function(String name, int firstVariadic, MemoryLayout... arguments) {
    Linker.Option errno = Linker.Option.captureCallState("errno");
    Linker.Option[] options =
        firstVariadic < 0
            ? new Linker.Option[] {errno}
            : new Linker.Option[] {errno, Linker.Option.firstVariadicArg(firstVariadic)};
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        FunctionDescriptor.of(ValueLayout.JAVA_INT, arguments),
        options);
  }

  private static int call(String name, Call call) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      int result = call.invoke(state);
      if (result < 0) {
        throw new IOException(name + " failed: errno " + (int) ERRNO.get(state, 0L));
      }
      return result;
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private interface Call {
    int invoke(MemorySegment state) throws Throwable;
  }
}
