// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;

/**
 * System calls on raw descriptors. Calls that fail return the error number, negated; interrupted
 * calls are repeated.
 */
public final class Posix {
  public static final int EAGAIN = 11;
  public static final int EBADMSG = 74;
  public static final int EPROTO = 71;
  public static final int EINTR = 4;
  public static final int ECONNRESET = 104;
  public static final int ETIMEDOUT = 110;
  public static final int POLLIN = 1;
  public static final int POLLOUT = 4;
  public static final int POLLRDHUP = 0x2000;

  /** Looks at what has come, which stays. */
  public static final int MSG_PEEK = 0x2;

  public static final int MSG_DONTWAIT = 0x40;

  /** The kernel may hold the bytes back for those of the next call. */
  public static final int MSG_MORE = 0x8000;

  static final int AF_UNIX = 1;
  static final int SOCK_STREAM = 1;
  static final int SOCK_CLOEXEC = 0x80000;
  private static final int MSG_NOSIGNAL = 0x4000;
  private static final int SHUT_SENDING = 1;
  private static final int SHUT_BOTH = 2;
  private static final int PROT_NONE = 0;
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS_NORESERVE = 0x4022;
  private static final int MAP_SHARED = 1;
  private static final int MAP_POPULATE = 0x8000;
  private static final int MFD_CLOEXEC = 1;
  private static final int MFD_ALLOW_SEALING = 2;
  private static final int F_ADD_SEALS = 1033;
  private static final int F_GET_SEALS = 1034;
  private static final int F_SEAL_SHRINK = 2;

  /** F_SEAL_SEAL, F_SEAL_SHRINK and F_SEAL_GROW: the length stays. */
  private static final int LENGTH_SEALS = 1 | 2 | 4;

  private static final int SEEK_END = 2;
  private static final int SECCOMP_SET_MODE_FILTER = 1;
  private static final int PR_SET_PDEATHSIG = 1;

  /** SECCOMP_FILTER_FLAG_TSYNC and _SPEC_ALLOW: all threads, at their speed. */
  private static final int SECCOMP_ALL_THREADS = 1 | 4;

  /** Calls without a function of the C library have numbers, which are not the same everywhere. */
  private static final boolean IS_AARCH64 = System.getProperty("os.arch").equals("aarch64");

  private static final long FUTEX = IS_AARCH64 ? 98 : 202;
  private static final long SECCOMP = IS_AARCH64 ? 277 : 317;

  /*
   * Every function is called with six words and returns one. By the calling conventions of x86-64 and
   * AArch64 a function takes no notice of words beyond those it has, nor of the upper half of an int;
   * an int that it returns is in the lower half. So the JVM makes one piece of code for the calls of
   * all functions, and not twenty classes for each, which is what a worker's start was spent on.
   */
  private static final Linker LINKER = Linker.nativeLinker();
  private static final FunctionDescriptor SIX_WORDS =
      FunctionDescriptor.of(
          JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final long ERRNO = STATE.byteOffset(PathElement.groupElement("errno"));
  private static final ThreadLocal<MemorySegment> CAPTURED =
      ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STATE));

  private static final MethodHandle RECV = function("recv");
  private static final MethodHandle SEND = function("send");
  private static final MethodHandle READ = function("read");
  private static final MethodHandle PREAD = function("pread");
  private static final MethodHandle SENDMSG = function("sendmsg");
  private static final MethodHandle RECVMSG = function("recvmsg");
  private static final MethodHandle POLL = function("poll");
  private static final MethodHandle SOCKET = function("socket");
  private static final MethodHandle SOCKETPAIR = function("socketpair");
  private static final MethodHandle CONNECT = function("connect");
  private static final MethodHandle BIND = function("bind");
  private static final MethodHandle LISTEN = function("listen");
  private static final MethodHandle ACCEPT4 = function("accept4");
  private static final MethodHandle SHUTDOWN = function("shutdown");
  private static final MethodHandle SETSOCKOPT = function("setsockopt");
  private static final MethodHandle GETSOCKOPT = function("getsockopt");
  private static final MethodHandle CLOSE = function("close");
  private static final MethodHandle DUP = function("dup");
  private static final MethodHandle DUP2 = function("dup2");
  private static final MethodHandle WRITE = function("write");
  private static final MethodHandle MMAP = function("mmap");
  private static final MethodHandle MUNMAP = function("munmap");
  private static final MethodHandle FFLUSH = function("fflush");
  private static final MethodHandle SYSCALL = function("syscall");
  private static final MethodHandle SETENV = function("setenv");
  private static final MethodHandle MEMFD_CREATE = function("memfd_create");
  private static final MethodHandle FCNTL = function("fcntl");
  private static final MethodHandle FTRUNCATE = function("ftruncate");
  private static final MethodHandle LSEEK = function("lseek");
  private static final MethodHandle FCHMOD = function("fchmod");
  private static final MethodHandle PRCTL = function("prctl");
  private static final MethodHandle GETPPID = function("getppid");

  private Posix() {}

  /** Receives up to {@code lengthBytes}; 0 at the end of the stream. */
  public static long recv(int fd, long address, long lengthBytes, int flags) {
    return transfer(RECV, fd, address, lengthBytes, flags);
  }

  /** Sends some of {@code lengthBytes}; returns how many. */
  public static long send(int fd, long address, long lengthBytes, int flags) {
    return transfer(SEND, fd, address, lengthBytes, MSG_NOSIGNAL | flags);
  }

  /**
   * Sends all of {@code lengthBytes}, waiting if need be; returns 0 when done.
   *
   * @param moreFollows whether the kernel may hold the bytes back for those of the next call
   */
  public static int sendAll(int fd, long address, long lengthBytes, boolean moreFollows) {
    int flags = moreFollows ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
    long sent = 0;
    while (sent < lengthBytes) {
      long count = transfer(SEND, fd, address + sent, lengthBytes - sent, flags);
      if (count < 0) {
        return (int) count;
      }
      sent += count;
    }
    return 0;
  }

  /** Reads from a descriptor that need not be a socket. */
  public static long read(int fd, long address, long lengthBytes) {
    return transfer(READ, fd, address, lengthBytes, 0);
  }

  /** Reads from a place of a file. */
  public static long pread(int fd, long address, long lengthBytes, long offset) {
    return transfer(PREAD, fd, address, lengthBytes, offset);
  }

  /** {@code sendmsg} of a prepared {@code msghdr}; returns the bytes sent. */
  static long sendmsg(int fd, long header) {
    return transfer(SENDMSG, fd, header, MSG_NOSIGNAL, 0);
  }

  /** {@code recvmsg} into a prepared {@code msghdr}. */
  static long recvmsg(int fd, long header, int flags) {
    return transfer(RECVMSG, fd, header, flags, 0);
  }

  /** {@code poll} of prepared {@code pollfd}s, once: an interruption counts as nothing ready. */
  public static int poll(long pollFds, int count, int timeoutMillis) {
    int ready = status(POLL, pollFds, count, timeoutMillis, 0);
    return ready == -EINTR ? 0 : ready;
  }

  /** Returns how many of prepared {@code pollfd}s are ready now. */
  public static int ready(long pollFds, int count) {
    int ready = -EINTR;
    while (ready == -EINTR) {
      ready = status(POLL, pollFds, count, 0, 0);
    }
    return ready;
  }

  static int socket() {
    return status(SOCKET, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0);
  }

  static int connect(int fd, long address, int lengthBytes) {
    return status(CONNECT, fd, address, lengthBytes, 0);
  }

  static int bind(int fd, long address, int lengthBytes) {
    return status(BIND, fd, address, lengthBytes, 0);
  }

  static int listen(int fd, int backlog) {
    return status(LISTEN, fd, backlog, 0, 0);
  }

  /** Waits for a connection to a listening socket; returns its descriptor. */
  static int accept(int fd) {
    int accepted;
    do {
      accepted = status(ACCEPT4, fd, 0, 0, SOCK_CLOEXEC);
    } while (accepted == -EINTR);
    return accepted;
  }

  /** {@code fchmod}; of a unix socket that is not bound yet, the mode that its file will have. */
  static int setMode(int fd, int mode) {
    return status(FCHMOD, fd, mode, 0, 0);
  }

  /** Makes two connected unix stream sockets. */
  public static int[] socketPair() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pair = arena.allocate(8);
      int type = SOCK_STREAM | SOCK_CLOEXEC;
      int result = status(SOCKETPAIR, AF_UNIX, type, 0, pair.address());
      if (result != 0) {
        throw new IllegalStateException("socketpair: error " + -result);
      }
      return new int[] {pair.get(JAVA_INT, 0), pair.get(JAVA_INT, 4)};
    }
  }

  /** Ends both directions of a connection; threads that wait on it wake up. */
  public static void shutdown(int fd) {
    status(SHUTDOWN, fd, SHUT_BOTH, 0, 0);
  }

  /** Ends the sending direction: the peer reads what was sent, then the end. */
  public static void shutdownSending(int fd) {
    status(SHUTDOWN, fd, SHUT_SENDING, 0, 0);
  }

  /** {@code setsockopt} of an int. */
  static int setOption(int fd, int level, int option, int value) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment word = arena.allocate(JAVA_INT);
      word.set(JAVA_INT, 0, value);
      return fiveWords(SETSOCKOPT, fd, level, option, word.address(), Integer.BYTES);
    }
  }

  /**
   * {@code getsockopt}.
   *
   * @param lengthAddress of an int, the room at first and then the length of the value
   */
  static int getOption(int fd, int level, int option, long address, long lengthAddress) {
    return fiveWords(GETSOCKOPT, fd, level, option, address, lengthAddress);
  }

  public static void close(int fd) {
    status(CLOSE, fd, 0, 0, 0);
  }

  /** Returns another descriptor of the same file. */
  public static int dup(int fd) {
    return status(DUP, fd, 0, 0, 0);
  }

  /**
   * Writes some of {@code lengthBytes} to a descriptor that need not be a socket; returns how many.
   */
  public static long write(int fd, long address, long lengthBytes) {
    return transfer(WRITE, fd, address, lengthBytes, 0);
  }

  public static int dup2(int from, int to) {
    return status(DUP2, from, to, 0, 0);
  }

  /** Flushes all streams of the C library. */
  public static void flushAll() {
    status(FFLUSH, 0, 0, 0, 0);
  }

  /** Sets a variable for the C libraries of this process; Java does not see the change. */
  public static void setEnvironment(String name, String value) {
    try (Arena arena = Arena.ofConfined()) {
      int overwrite = 1;
      status(
          SETENV,
          arena.allocateFrom(name).address(),
          arena.allocateFrom(value).address(),
          overwrite,
          0);
    }
  }

  /** Maps zeroed memory of its own pages, taken as it is touched; returns 0 if there is none. */
  public static long map(long lengthBytes) {
    return mapAnonymous(lengthBytes, PROT_READ_WRITE);
  }

  /** Reserves addresses so that nothing else is mapped there; returns 0 if that fails. */
  public static long reserve(long lengthBytes) {
    return mapAnonymous(lengthBytes, PROT_NONE);
  }

  private static long mapAnonymous(long lengthBytes, long protection) {
    try {
      long address =
          (long)
              MMAP.invokeExact(
                  CAPTURED.get(),
                  0L,
                  lengthBytes,
                  protection,
                  (long) MAP_PRIVATE_ANONYMOUS_NORESERVE,
                  -1L,
                  0L);
      return address == -1 ? 0 : address;
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Maps a part of a file that other processes map, too; returns 0 if that fails. */
  public static long mapShared(int fd, long offset, long lengthBytes) {
    return mapShared(fd, offset, lengthBytes, MAP_SHARED);
  }

  /** Does the same, and has all pages there when it returns. */
  public static long mapSharedAtOnce(int fd, long lengthBytes) {
    return mapShared(fd, 0, lengthBytes, MAP_SHARED | MAP_POPULATE);
  }

  private static long mapShared(int fd, long offset, long lengthBytes, int flags) {
    try {
      long address =
          (long)
              MMAP.invokeExact(
                  CAPTURED.get(),
                  0L,
                  lengthBytes,
                  (long) PROT_READ_WRITE,
                  (long) flags,
                  (long) fd,
                  offset);
      return address == -1 ? 0 : address;
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Makes a file of this length that lives in memory alone; returns below 0 if that fails. */
  public static int memoryFile(String name, long lengthBytes) {
    return memoryFile(name, lengthBytes, MFD_CLOEXEC);
  }

  /** The same, of a length that nobody who gets the descriptor can change. */
  public static int sealedMemoryFile(String name, long lengthBytes) {
    int fd = memoryFile(name, lengthBytes, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int error = fd < 0 ? fd : status(FCNTL, fd, F_ADD_SEALS, LENGTH_SEALS, 0);
    if (error < 0 && fd >= 0) {
      close(fd);
    }
    return error < 0 ? error : fd;
  }

  private static int memoryFile(String name, long lengthBytes, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      int fd = status(MEMFD_CREATE, arena.allocateFrom(name).address(), flags, 0, 0);
      if (fd < 0) {
        return fd;
      }
      int error = status(FTRUNCATE, fd, lengthBytes, 0, 0);
      if (error < 0) {
        close(fd);
        return error;
      }
      return fd;
    }
  }

  /**
   * Returns whether nobody can shorten a file below {@code lengthBytes}, so that memory mapped of
   * it stays there.
   */
  public static boolean keepsLength(int fd, long lengthBytes) {
    int seals = status(FCNTL, fd, F_GET_SEALS, 0, 0);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && length(fd) >= lengthBytes;
  }

  /** Returns the length of a file. */
  public static long length(int fd) {
    return transfer(LSEEK, fd, 0, SEEK_END, 0);
  }

  /**
   * Limits the system calls of all threads of this process permanently; returns 0 when done.
   *
   * @param program a prepared {@code sock_fprog}
   */
  static int filterCalls(long program) {
    return status(SYSCALL, SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_ALL_THREADS, program);
  }

  /**
   * Has the kernel send this process a signal when its parent ends, as long as the calling thread
   * lives; 0: none.
   */
  static int signalAtParentsEnd(int signal) {
    return status(PRCTL, PR_SET_PDEATHSIG, signal, 0, 0);
  }

  static int parent() {
    return status(GETPPID, 0, 0, 0, 0);
  }

  public static void unmap(long address, long lengthBytes) {
    status(MUNMAP, address, lengthBytes, 0, 0);
  }

  /** {@code futex}; the word shows the result. */
  static void futex(long address, int operation, int value, long timeout) {
    try {
      long ignored =
          (long)
              SYSCALL.invokeExact(
                  CAPTURED.get(), FUTEX, address, (long) operation, (long) value, timeout, 0L);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Calls a function that returns how many bytes it moved. */
  private static long transfer(MethodHandle function, long a, long b, long c, long d) {
    try {
      MemorySegment state = CAPTURED.get();
      while (true) {
        long count = (long) function.invokeExact(state, a, b, c, d, 0L, 0L);
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

  /** Calls a function that returns an int, below 0 if it failed. */
  private static int status(MethodHandle function, long a, long b, long c, long d) {
    return fiveWords(function, a, b, c, d, 0);
  }

  private static int fiveWords(MethodHandle function, long a, long b, long c, long d, long last) {
    try {
      MemorySegment state = CAPTURED.get();
      int result = (int) (long) function.invokeExact(state, a, b, c, d, last, 0L);
      return result >= 0 ? result : -errno(state);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  private static int errno(MemorySegment state) {
    return state.get(JAVA_INT, ERRNO);
  }

  private static MethodHandle function(String name) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        SIX_WORDS,
        Linker.Option.captureCallState("errno"));
  }

  private static AssertionError failed(Throwable cause) {
    return cause instanceof AssertionError e
        ? e
        : new AssertionError("system call could not be made", cause);
  }
}
