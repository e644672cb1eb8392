// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import java.io.IOException;

/** A unix socket that takes connections. One thread accepts. */
public final class ListeningSocket implements AutoCloseable {
  private static final int BACKLOG = 1;

  /** Of the file: reading and writing for its owner alone. */
  private static final int MODE = 0600;

  private final int fd;

  /** Takes over a descriptor. */
  public ListeningSocket(int fd) {
    this.fd = fd;
  }

  /**
   * Listens on a path, where nothing may be yet; the file stays when the socket is closed.
   *
   * @throws IOException if the socket cannot be made there
   */
  public static ListeningSocket bind(String path) throws IOException {
    UnixAddress address = UnixAddress.of(path);
    int fd = Posix.socket();
    if (fd < 0) {
      throw new IOException("cannot make a unix socket: error " + -fd);
    }
    int error = Posix.setMode(fd, MODE);
    if (error == 0) {
      error = address.bind(fd);
    }
    if (error == 0) {
      error = Posix.listen(fd, BACKLOG);
    }
    if (error != 0) {
      Posix.close(fd);
      throw new IOException("cannot listen on " + path + ": error " + -error);
    }
    return new ListeningSocket(fd);
  }

  /** Waits for a connection. */
  public UnixSocket accept() throws IOException {
    int accepted = Posix.accept(fd);
    if (accepted < 0) {
      throw new IOException("cannot accept a connection: error " + -accepted);
    }
    return new UnixSocket(accepted);
  }

  /** Wakes the thread that accepts, and closes the socket. */
  @Override
  public void close() {
    Posix.shutdown(fd);
    Posix.close(fd);
  }
}
