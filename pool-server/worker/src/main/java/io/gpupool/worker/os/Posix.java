// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * System calls on raw descriptors. What fails returns the error number, negated; interrupted calls
 * are made again.
 */
public final class Posix {
  public static final int EAGAIN = 11;
  public static final int EINTR = 4;
  static final int ECONNRESET = 104;
  public static final int POLLIN = 1;
  public static final int MSG_DONTWAIT = 0x40;

  static final int AF_UNIX = 1;
  static final int SOCK_STREAM = 1;
  static final int SOCK_CLOEXEC = 0x80000;
  private static final int MSG_NOSIGNAL = 0x4000;
  private static final int SHUT_SENDING = 1;
  private static final int SHUT_BOTH = 2;
  private static final int MSG_MORE = 0x8000;
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS_NORESERVE = 0x4022;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final ThreadLocal<MemorySegment> CAPTURED =
      ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STATE));

  private static final MethodHandle RECV =
      call("recv", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
  private static final MethodHandle SEND =
      call("send", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
  private static final MethodHandle READ = call("read", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle SENDMSG =
      call("sendmsg", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT);
  private static final MethodHandle RECVMSG =
      call("recvmsg", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT);
  private static final MethodHandle POLL = call("poll", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
  private static final MethodHandle SOCKET = call("socket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle SOCKETPAIR =
      call("socketpair", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
  private static final MethodHandle CONNECT =
      call("connect", JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT);
  private static final MethodHandle SHUTDOWN = call("shutdown", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle CLOSE = call("close", JAVA_INT, JAVA_INT);
  private static final MethodHandle DUP2 = call("dup2", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle MMAP =
      call("mmap", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
  private static final MethodHandle MUNMAP = call("munmap", JAVA_INT, JAVA_LONG, JAVA_LONG);

  private Posix() {}

  /** Receives up to {@code lengthBytes}; 0 at the end of the stream. */
  public static long recv(int fd, long address, long lengthBytes, int flags) {
    try {
      MemorySegment state = CAPTURED.get();
      while (true) {
        long count = (long) RECV.invokeExact(state, fd, address, lengthBytes, flags);
        if (count >= 0) {
          return count;
        }
        int error = errno(state);
        if (error != EINTR) {
          return -error;
        }
      }
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /**
   * Sends all of {@code lengthBytes}, waiting if need be; 0 when done.
   *
   * @param moreFollows whether the kernel may hold the bytes back for those of the next call
   */
  public static int sendAll(int fd, long address, long lengthBytes, boolean moreFollows) {
    try {
      MemorySegment state = CAPTURED.get();
      int flags = moreFollows ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
      long sent = 0;
      while (sent < lengthBytes) {
        long count = (long) SEND.invokeExact(state, fd, address + sent, lengthBytes - sent, flags);
        if (count >= 0) {
          sent += count;
        } else if (errno(state) != EINTR) {
          return -errno(state);
        }
      }
      return 0;
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Reads from what may be no socket. */
  public static long read(int fd, long address, long lengthBytes) {
    try {
      MemorySegment state = CAPTURED.get();
      while (true) {
        long count = (long) READ.invokeExact(state, fd, address, lengthBytes);
        if (count >= 0) {
          return count;
        }
        int error = errno(state);
        if (error != EINTR) {
          return -error;
        }
      }
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** {@code sendmsg} of a prepared {@code msghdr}; returns what was sent. */
  static long sendmsg(int fd, long header) {
    try {
      MemorySegment state = CAPTURED.get();
      while (true) {
        long count = (long) SENDMSG.invokeExact(state, fd, header, MSG_NOSIGNAL);
        if (count >= 0) {
          return count;
        }
        int error = errno(state);
        if (error != EINTR) {
          return -error;
        }
      }
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** {@code recvmsg} into a prepared {@code msghdr}. */
  static long recvmsg(int fd, long header, int flags) {
    try {
      MemorySegment state = CAPTURED.get();
      while (true) {
        long count = (long) RECVMSG.invokeExact(state, fd, header, flags);
        if (count >= 0) {
          return count;
        }
        int error = errno(state);
        if (error != EINTR) {
          return -error;
        }
      }
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** {@code poll} of prepared {@code pollfd}s, once: an interruption counts as nothing ready. */
  public static int poll(long pollFds, int count, int timeoutMillis) {
    try {
      MemorySegment state = CAPTURED.get();
      int ready = (int) POLL.invokeExact(state, pollFds, (long) count, timeoutMillis);
      return ready >= 0 ? ready : errno(state) == EINTR ? 0 : -errno(state);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  static int socket() {
    try {
      MemorySegment state = CAPTURED.get();
      int fd = (int) SOCKET.invokeExact(state, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      return fd >= 0 ? fd : -errno(state);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  static int connect(int fd, long address, int lengthBytes) {
    try {
      MemorySegment state = CAPTURED.get();
      int result = (int) CONNECT.invokeExact(state, fd, address, lengthBytes);
      return result == 0 ? 0 : -errno(state);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Two connected unix stream sockets. */
  public static int[] socketPair() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pair = arena.allocate(8);
      MemorySegment state = CAPTURED.get();
      int result =
          (int)
              SOCKETPAIR.invokeExact(state, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.address());
      if (result != 0) {
        throw new IllegalStateException("socketpair: error " + errno(state));
      }
      return new int[] {pair.get(JAVA_INT, 0), pair.get(JAVA_INT, 4)};
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Ends both directions of a connection; whoever waits on it wakes up. */
  public static void shutdown(int fd) {
    shutdown(fd, SHUT_BOTH);
  }

  /** Ends the sending direction: the peer reads what was sent, then the end. */
  public static void shutdownSending(int fd) {
    shutdown(fd, SHUT_SENDING);
  }

  private static void shutdown(int fd, int how) {
    try {
      int ignored = (int) SHUTDOWN.invokeExact(CAPTURED.get(), fd, how);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  public static void close(int fd) {
    try {
      int ignored = (int) CLOSE.invokeExact(CAPTURED.get(), fd);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  public static int dup2(int from, int to) {
    try {
      MemorySegment state = CAPTURED.get();
      int fd = (int) DUP2.invokeExact(state, from, to);
      return fd >= 0 ? fd : -errno(state);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Zeroed memory of its own pages, taken as it is touched; 0 if there is none. */
  public static long map(long lengthBytes) {
    try {
      MemorySegment state = CAPTURED.get();
      long address =
          (long)
              MMAP.invokeExact(
                  state, 0L, lengthBytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS_NORESERVE, -1, 0L);
      return address == -1 ? 0 : address;
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  public static void unmap(long address, long lengthBytes) {
    try {
      int ignored = (int) MUNMAP.invokeExact(CAPTURED.get(), address, lengthBytes);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  private static int errno(MemorySegment state) {
    return (int) ERRNO.get(state, 0L);
  }

  private static MethodHandle call(String name, MemoryLayout result, MemoryLayout... parameters) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        FunctionDescriptor.of(result, parameters),
        Linker.Option.captureCallState("errno"));
  }

  private static AssertionError failed(Throwable cause) {
    return cause instanceof AssertionError e
        ? e
        : new AssertionError("system call could not be made", cause);
  }
}
