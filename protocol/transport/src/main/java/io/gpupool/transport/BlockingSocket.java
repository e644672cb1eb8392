// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.netty.channel.unix.FileDescriptor;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * A connected socket for threads that may wait: one reads and one writes, and any may shut it down,
 * which wakes both. Bytes are in memory outside the heap.
 */
public final class BlockingSocket {
  private static final int MSG_NOSIGNAL = 0x4000;
  private static final int SHUT_RDWR = 2;

  /** Called with four words; a function takes no notice of those beyond what it has. */
  private static final FunctionDescriptor FOUR_WORDS =
      FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final MethodHandle RECV = function("recv");
  private static final MethodHandle SEND = function("send");
  private static final MethodHandle SHUTDOWN = function("shutdown");

  private final FileDescriptor descriptor;

  @GuardedBy("this")
  private boolean closed;

  /** Takes a blocking descriptor. */
  public BlockingSocket(FileDescriptor descriptor) {
    this.descriptor = descriptor;
  }

  /** Waits for bytes; returns how many came, 0 or less when none will come any more. */
  public long receive(MemorySegment into, long offset) {
    return call(RECV, into.address() + offset, into.byteSize() - offset, 0);
  }

  /** Sends all of it, waiting if need be; false when the other side takes no more. */
  public boolean send(MemorySegment from, long lengthBytes) {
    long sent = 0;
    while (sent < lengthBytes) {
      long count = call(SEND, from.address() + sent, lengthBytes - sent, MSG_NOSIGNAL);
      if (count < 0) {
        return false;
      }
      sent += count;
    }
    return true;
  }

  /** Ends both directions; what was sent still arrives. */
  public synchronized void shutdown() {
    if (!closed) {
      call(SHUTDOWN, SHUT_RDWR, 0, 0);
    }
  }

  /** Only once no thread reads or writes any more: its number may be another file's at once. */
  public synchronized void close() {
    closed = true;
    Detaching.closeQuietly(descriptor);
  }

  private long call(MethodHandle function, long a, long b, long c) {
    try {
      return (long) function.invokeExact((long) descriptor.intValue(), a, b, c);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static MethodHandle function(String name) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), FOUR_WORDS);
  }
}
