// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;

/** A unix socket that listens at a path and blocks: what a worker has, for tests. */
public final class UnixListener {
  private static final int AF_UNIX = 1;
  private static final int SOCK_STREAM_CLOEXEC = 1 | 02000000;
  private static final int ADDRESS_BYTES = 2 + 108;
  private static final MethodHandle SOCKET = function("socket");
  private static final MethodHandle BIND = function("bind");
  private static final MethodHandle LISTEN = function("listen");
  private static final MethodHandle ACCEPT = function("accept");

  private final int descriptor;

  public UnixListener(String path) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      byte[] bytes = path.getBytes(StandardCharsets.UTF_8);
      MemorySegment name = arena.allocate(ADDRESS_BYTES);
      name.set(ValueLayout.JAVA_SHORT, 0, (short) AF_UNIX);
      MemorySegment.copy(bytes, 0, name, ValueLayout.JAVA_BYTE, 2, bytes.length);
      descriptor = call(SOCKET, AF_UNIX, SOCK_STREAM_CLOEXEC, 0);
      call(BIND, descriptor, name.address(), ADDRESS_BYTES);
      call(LISTEN, descriptor, 1, 0);
    }
  }

  /** Waits for a connection and returns its descriptor. */
  public int accept() throws IOException {
    return call(ACCEPT, descriptor, 0, 0);
  }

  private static MethodHandle function(String name) {
    return Linker.nativeLinker()
        .downcallHandle(
            Linker.nativeLinker().defaultLookup().findOrThrow(name),
            FunctionDescriptor.of(
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG));
  }

  private static int call(MethodHandle function, long a, long b, long c) throws IOException {
    try {
      int result = (int) (long) function.invokeExact(a, b, c);
      if (result < 0) {
        throw new IOException("a call of a listening socket failed");
      }
      return result;
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
