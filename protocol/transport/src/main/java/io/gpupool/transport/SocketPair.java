// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Two unix stream sockets that are connected to each other, both close-on-exec and blocking; each
 * is closed by whoever has taken it.
 */
public record SocketPair(FileDescriptor first, FileDescriptor second) {
  private static final int AF_UNIX = 1;
  private static final int SOCK_STREAM = 1;
  private static final int SOCK_CLOEXEC = 02000000;

  /** Apart, because nothing but TLS needs it. */
  private static final class Native {
    static final MethodHandle SOCKETPAIR =
        Linker.nativeLinker()
            .downcallHandle(
                Linker.nativeLinker().defaultLookup().findOrThrow("socketpair"),
                FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS));
  }

  /** Makes a pair; fails where the process has no descriptors left. */
  public static SocketPair open() throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pair = arena.allocate(JAVA_INT, 2);
      int result =
          (int) Native.SOCKETPAIR.invokeExact(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
      if (result != 0) {
        throw new IOException("no pair of sockets can be made; are there descriptors left?");
      }
      return new SocketPair(
          new FileDescriptor(pair.getAtIndex(JAVA_INT, 0)),
          new FileDescriptor(pair.getAtIndex(JAVA_INT, 1)));
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
