// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.UnixSocket;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;

/** The pool-server's end of control connections, on an abstract name. */
public final class UnixListener implements AutoCloseable {
  private static final int AF_UNIX = 1;
  private static final int SOCK_STREAM_CLOEXEC = 0x80001;
  private static final int TIMEOUT_MILLIS = 30_000;

  private final int fd;

  public UnixListener(String abstractName) throws Throwable {
    fd =
        (int)
            call("socket", JAVA_INT, JAVA_INT, JAVA_INT)
                .invokeExact(AF_UNIX, SOCK_STREAM_CLOEXEC, 0);
    try (Arena arena = Arena.ofConfined()) {
      byte[] name = abstractName.getBytes(StandardCharsets.UTF_8);
      MemorySegment address = arena.allocate(3 + name.length);
      address.set(JAVA_SHORT, 0, (short) AF_UNIX);
      MemorySegment.copy(name, 0, address, JAVA_BYTE, 3, name.length);
      int bound =
          (int)
              call("bind", JAVA_INT, JAVA_LONG, JAVA_INT)
                  .invokeExact(fd, address.address(), (int) address.byteSize());
      int listening = (int) call("listen", JAVA_INT, JAVA_INT).invokeExact(fd, 4);
      if (bound != 0 || listening != 0) {
        throw new IllegalStateException("cannot listen on @" + abstractName);
      }
    }
  }

  public UnixSocket accept() throws Throwable {
    try (Arena arena = Arena.ofConfined()) {
      long pollFd = arena.allocate(8, 4).address();
      Memory.putInt(pollFd, fd);
      Memory.putShort(pollFd + 4, Posix.POLLIN);
      if (Posix.poll(pollFd, 1, TIMEOUT_MILLIS) != 1) {
        throw new IllegalStateException("no worker connected in 30 s");
      }
      int accepted = (int) call("accept", JAVA_INT, JAVA_LONG, JAVA_LONG).invokeExact(fd, 0L, 0L);
      return new UnixSocket(accepted);
    }
  }

  @Override
  public void close() {
    Posix.close(fd);
  }

  private static MethodHandle call(String name, MemoryLayout... parameters) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(
        linker.defaultLookup().findOrThrow(name), FunctionDescriptor.of(JAVA_INT, parameters));
  }
}
