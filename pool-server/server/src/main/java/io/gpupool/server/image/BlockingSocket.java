// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.image;

import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;

/**
 * A blocking socket between a thread of the server and a worker. It stays open.
 *
 * @param fd its descriptor
 */
record BlockingSocket(FileDescriptor fd) {
  private static final int BUFFER_BYTES = 1 << 18;

  /** Writes what comes, up to its end. */
  void transferTo(OutputStream to) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
    byte[] bytes = new byte[BUFFER_BYTES];
    for (int read = fd.read(buffer, 0, BUFFER_BYTES);
        read >= 0;
        read = fd.read(buffer, 0, BUFFER_BYTES)) {
      buffer.get(0, bytes, 0, read);
      to.write(bytes, 0, read);
    }
  }

  /** Sends what a stream has, up to its end. */
  void transferFrom(InputStream from) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
    byte[] bytes = new byte[BUFFER_BYTES];
    for (int read = from.read(bytes); read >= 0; read = from.read(bytes)) {
      buffer.put(0, bytes, 0, read);
      for (int at = 0; at < read; ) {
        at += fd.write(buffer, at, read);
      }
    }
  }
}
