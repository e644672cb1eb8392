// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.OptionalInt;

/**
 * A connected unix stream socket that can carry descriptors. One thread reads and closes, any
 * thread writes and cuts.
 */
public final class UnixSocket implements AutoCloseable {
  private static final int BUFFER_BYTES = 32 << 10;

  private final int fd;
  private final Arena arena = Arena.ofAuto();
  private final MemorySegment readBuffer = arena.allocate(BUFFER_BYTES, 8);
  private final MemorySegment writeBuffer = arena.allocate(BUFFER_BYTES, 8);
  private final DescriptorReceipt receipt = new DescriptorReceipt(1);

  private final Object life = new Object();

  @GuardedBy("life")
  private boolean closed;

  /** Takes over a descriptor. */
  public UnixSocket(int fd) {
    this.fd = fd;
  }

  /**
   * Connects.
   *
   * @param name a path, or {@code @NAME} for a name in the abstract namespace
   */
  public static UnixSocket connect(String name) throws IOException {
    UnixAddress address = UnixAddress.of(name);
    int fd = Posix.socket();
    if (fd < 0) {
      throw new IOException("cannot make a unix socket: error " + -fd);
    }
    int error = address.connect(fd);
    if (error != 0) {
      Posix.close(fd);
      throw new IOException("cannot connect to " + name + ": error " + -error);
    }
    return new UnixSocket(fd);
  }

  /** Waits until there is something to read, or the end; returns whether there is. */
  public boolean awaitReadable(int millis) {
    try (Arena call = Arena.ofConfined()) {
      long pollFd = call.allocate(8, 4).address();
      Memory.putInt(pollFd, fd);
      Memory.putShort(pollFd + 4, Posix.POLLIN);
      return Posix.poll(pollFd, 1, millis) > 0;
    }
  }

  /**
   * Reads up to {@code limit} bytes into the buffer's position.
   *
   * @return the number of bytes, or -1 at the end of the stream, also where the peer left bytes
   *     unread
   */
  public int read(ByteBuffer buffer, int limit) throws IOException {
    int length = Math.min(Math.min(limit, buffer.remaining()), BUFFER_BYTES);
    long count = Posix.recv(fd, readBuffer.address(), length, 0);
    if (isEnd(count)) {
      return -1;
    }
    if (count < 0) {
      throw new IOException("cannot read from the control socket: error " + -count);
    }
    buffer.put(readBuffer.asSlice(0, count).asByteBuffer());
    return (int) count;
  }

  private static boolean isEnd(long count) {
    return count == 0 || count == -Posix.ECONNRESET;
  }

  /**
   * Receives one byte that carries one descriptor, which is the caller's to close; empty at the end
   * of the stream.
   */
  public OptionalInt receiveDescriptor() throws IOException {
    long count = receipt.receive(fd, 0);
    if (isEnd(count)) {
      return OptionalInt.empty();
    }
    if (count != 1) {
      throw new IOException("no byte with a descriptor came: error " + -count);
    }
    int descriptor = receipt.takeDescriptor();
    if (descriptor < 0) {
      throw new IOException("the byte that should carry one descriptor carries none or several");
    }
    return OptionalInt.of(descriptor);
  }

  /** Sends one byte that carries a descriptor, which stays open here. */
  public synchronized void sendDescriptor(int descriptor) throws IOException {
    checkOpen();
    sendDescriptor(fd, descriptor);
  }

  /** The same over any unix stream socket. */
  public static void sendDescriptor(int socket, int descriptor) throws IOException {
    try (Arena call = Arena.ofConfined()) {
      MemorySegment iov = call.allocate(16, 8);
      iov.set(JAVA_LONG, 0, call.allocate(1).address());
      iov.set(JAVA_LONG, 8, 1L);
      MemorySegment ancillary = call.allocate(24, 8);
      ancillary.set(JAVA_LONG, 0, DescriptorReceipt.CONTROL_HEADER_BYTES + 4L);
      ancillary.set(JAVA_INT, 8, DescriptorReceipt.SOL_SOCKET);
      ancillary.set(JAVA_INT, 12, DescriptorReceipt.SCM_RIGHTS);
      ancillary.set(JAVA_INT, 16, descriptor);
      MemorySegment header = call.allocate(56, 8);
      header.set(JAVA_LONG, 16, iov.address());
      header.set(JAVA_LONG, 24, 1L);
      header.set(JAVA_LONG, 32, ancillary.address());
      header.set(JAVA_LONG, 40, 24L);
      long count = Posix.sendmsg(socket, header.address());
      if (count != 1) {
        throw new IOException("cannot send a descriptor: error " + -count);
      }
    }
  }

  /** Writes all bytes; at most 32 KiB at once. */
  public synchronized void write(byte[] bytes) throws IOException {
    checkOpen();
    MemorySegment.copy(bytes, 0, writeBuffer, JAVA_BYTE, 0, bytes.length);
    int error = Posix.sendAll(fd, writeBuffer.address(), bytes.length, false);
    if (error != 0) {
      throw new IOException("cannot write to the control socket: error " + -error);
    }
  }

  private void checkOpen() throws IOException {
    synchronized (life) {
      if (closed) {
        throw new IOException("the control socket is closed");
      }
    }
  }

  /** Ends both directions: threads that read or write wake up. */
  public void cut() {
    synchronized (life) {
      if (!closed) {
        Posix.shutdown(fd);
      }
    }
  }

  @Override
  public void close() {
    cut();
    // Its number may belong to another file as soon as it is closed: no thread may be writing.
    synchronized (this) {
      synchronized (life) {
        if (!closed) {
          closed = true;
          Posix.close(fd);
        }
      }
    }
  }
}
