// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.transport.Descriptors;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.Socket;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * A socket by which one worker hands over descriptors, each before the message that refers to it.
 * Receiving them needs no privilege over the worker's process, which containers do not give. Owned
 * by the control thread.
 */
final class DescriptorInbox {
  private final Socket own;
  private FileDescriptor workers;

  private DescriptorInbox(Socket own, FileDescriptor workers) {
    this.own = own;
    this.workers = workers;
  }

  static DescriptorInbox open() {
    // Loads the native library of netty's sockets, whether or not an event loop runs already.
    Epoll.ensureAvailability();
    try {
      int[] pair = Descriptors.socketPair();
      return new DescriptorInbox(new Socket(pair[0]), new FileDescriptor(pair[1]));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the worker's end, which is sent to it; the sender closes it. */
  FileDescriptor workersEnd() {
    return workers;
  }

  /**
   * Takes the oldest descriptor that the worker has handed over; the caller owns it.
   *
   * @throws IOException if the worker has handed over nothing, or not exactly one descriptor
   */
  int take() throws IOException {
    int received = own.recvFd();
    if (received <= 0) {
      throw new IOException("the worker has handed over no descriptor");
    }
    try {
      // Not for processes that this one starts.
      return Descriptors.duplicate(received);
    } finally {
      Descriptors.close(received);
    }
  }

  void close() {
    try {
      own.close();
      if (workers.isOpen()) {
        workers.close();
      }
    } catch (IOException e) {
      throw new IllegalStateException("socket for descriptors", e);
    }
  }
}
