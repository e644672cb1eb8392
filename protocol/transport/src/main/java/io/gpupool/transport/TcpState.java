// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/**
 * The kernel's view of a TCP connection ({@code TCP_INFO}). A value, for any thread.
 *
 * @param unacknowledged segments that were sent and not acknowledged
 * @param unansweredProbes probes since the other end last answered one
 * @param received segments that have come from the other end, acknowledgements included
 * @param sendWindow the bytes that the other end would take; null: this kernel does not tell
 */
public record TcpState(
    int unacknowledged, int unansweredProbes, int received, @Nullable Integer sendWindow) {
  private static final int IPPROTO_TCP = 6;
  private static final int TCP_INFO = 11;
  private static final int PROBES_OFFSET = 3;
  private static final int UNACKED_OFFSET = 24;
  private static final int SEGS_IN_OFFSET = 140;
  private static final int SND_WND_OFFSET = 228;
  private static final int BYTES = SND_WND_OFFSET + Integer.BYTES;

  private static final class Native {
    static final MethodHandle GETSOCKOPT =
        Linker.nativeLinker()
            .downcallHandle(
                Linker.nativeLinker().defaultLookup().findOrThrow("getsockopt"),
                FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS));
  }

  /**
   * Asks the kernel.
   *
   * @throws IOException if the descriptor is none of a TCP connection
   */
  public static TcpState of(int descriptor) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = arena.allocate(BYTES);
      MemorySegment length = arena.allocate(JAVA_INT);
      length.set(JAVA_INT, 0, BYTES);
      int result =
          (int) Native.GETSOCKOPT.invokeExact(descriptor, IPPROTO_TCP, TCP_INFO, info, length);
      if (result != 0 || length.get(JAVA_INT, 0) < SEGS_IN_OFFSET + Integer.BYTES) {
        throw new IOException("the kernel does not tell the state of a TCP connection");
      }
      return new TcpState(
          info.get(JAVA_INT_UNALIGNED, UNACKED_OFFSET),
          Byte.toUnsignedInt(info.get(JAVA_BYTE, PROBES_OFFSET)),
          info.get(JAVA_INT_UNALIGNED, SEGS_IN_OFFSET),
          length.get(JAVA_INT, 0) >= BYTES ? info.get(JAVA_INT_UNALIGNED, SND_WND_OFFSET) : null);
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
