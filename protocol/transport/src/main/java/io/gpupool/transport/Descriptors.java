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
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Operations on file descriptors that the JDK lacks on Linux: bare calls into libc. Any thread may
 * call them.
 */
public final class Descriptors {
  private static final int F_GETFL = 3;
  private static final int F_SETFL = 4;
  private static final int F_DUPFD_CLOEXEC = 1030;
  private static final int O_NONBLOCK = 04000;
  private static final int F_ADD_SEALS = 1033;
  private static final int F_GET_SEALS = 1034;

  /** F_SEAL_SEAL, _SHRINK and _GROW. */
  private static final int FIXED_LENGTH = 1 | 2 | 4;

  /** MFD_CLOEXEC and MFD_ALLOW_SEALING. */
  private static final int MFD_FLAGS = 1 | 2;

  /** O_PATH and O_CLOEXEC: names a file, and gives no right to it. */
  private static final int O_NAME = 012000000;

  /**
   * O_RDWR, O_CLOEXEC and O_NONBLOCK, which does not wait for the holder of a lease (F_SETLEASE).
   */
  private static final int O_OPEN = 02004002;

  /** O_RDONLY, O_CLOEXEC and O_NOFOLLOW. */
  private static final int O_READ =
      System.getProperty("os.arch").equals("aarch64") ? 02100000 : 02400000;

  private static final int AF_UNIX = 1;

  /** SOCK_SEQPACKET, SOCK_CLOEXEC and SOCK_NONBLOCK. */
  private static final int PACKETS = 02004005;

  /*
   * Every function is called with four words, and takes no notice of those that it does not have nor
   * of the upper half of an int, by the calling conventions of x86-64 and AArch64. So the JVM makes
   * one piece of code for all of them.
   */
  private static final Linker LINKER = Linker.nativeLinker();
  private static final FunctionDescriptor FOUR_WORDS =
      FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final long ERRNO = STATE.byteOffset(PathElement.groupElement("errno"));
  private static final MethodHandle FCNTL = function("fcntl");
  private static final MethodHandle CLOSE = function("close");
  private static final MethodHandle MEMFD_CREATE = function("memfd_create");
  private static final MethodHandle FTRUNCATE = function("ftruncate");
  private static final MethodHandle OPEN = function("open");
  private static final MethodHandle SOCKETPAIR = function("socketpair");

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

  /** Two unix sockets that are joined and carry packets; neither waits. */
  public static int[] socketPair() throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pair = arena.allocate(ValueLayout.JAVA_INT, 2);
      call("socketpair", SOCKETPAIR, AF_UNIX, PACKETS, 0, pair.address());
      return pair.toArray(ValueLayout.JAVA_INT);
    }
  }

  /**
   * A copy of a descriptor that another process has of a file in memory, which may be written to.
   * The process must not end meanwhile.
   *
   * @throws IOException if it has no such descriptor, or one of something else
   */
  public static int ofProcess(int process, int descriptor) throws IOException {
    // The process may put another file under the number at any time: this one stays the same.
    int named = open("/proc/" + process + "/fd/" + descriptor, O_NAME);
    try {
      if (!isMemoryFile(named)) {
        throw new IOException("descriptor " + descriptor + " is of no file in memory");
      }
      return open("/proc/self/fd/" + named, O_OPEN);
    } finally {
      close(named);
    }
  }

  /** Opens a file for reading alone; a symbolic link is none. */
  public static int openForReading(Path file) throws IOException {
    return open(file.toString(), O_READ);
  }

  /** Returns whether a descriptor is of a file in memory alone: reading it never blocks. */
  public static boolean isMemoryFile(int descriptor) throws IOException {
    Path link = Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor));
    return link.toString().startsWith("/memfd:");
  }

  /** Returns whether nobody can change the length of a file in memory. */
  public static boolean hasFixedLength(int descriptor) throws IOException {
    return (call("fcntl", FCNTL, descriptor, F_GET_SEALS, 0) & FIXED_LENGTH) == FIXED_LENGTH;
  }

  /**
   * A zeroed file that lives in memory alone, as long as a descriptor or mapping of it does. Nobody
   * who has a descriptor of it can change its length, which would kill whoever has it mapped.
   */
  public static int memoryFile(String name, long lengthBytes) throws IOException {
    int descriptor;
    try (Arena arena = Arena.ofConfined()) {
      descriptor =
          call("memfd_create", MEMFD_CREATE, arena.allocateFrom(name).address(), MFD_FLAGS, 0);
    }
    try {
      call("ftruncate", FTRUNCATE, descriptor, lengthBytes, 0);
      call("fcntl", FCNTL, descriptor, F_ADD_SEALS, FIXED_LENGTH);
    } catch (IOException e) {
      close(descriptor);
      throw e;
    }
    return descriptor;
  }

  private static int open(String path, int flags) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      return call("open", OPEN, arena.allocateFrom(path).address(), flags, 0);
    }
  }

  private static MethodHandle function(String name) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        FOUR_WORDS,
        Linker.Option.captureCallState("errno"));
  }

  private static int call(String name, MethodHandle function, long a, long b, long c)
      throws IOException {
    return call(name, function, a, b, c, 0);
  }

  private static int call(String name, MethodHandle function, long a, long b, long c, long d)
      throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      int result = (int) (long) function.invokeExact(state, a, b, c, d);
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
