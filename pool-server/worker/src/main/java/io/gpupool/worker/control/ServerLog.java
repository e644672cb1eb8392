// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Standard error as the server has given it to this process, which is the server's log. */
final class ServerLog extends OutputStream {
  private static final int STANDARD_ERROR = 2;
  private static final int BUFFER_BYTES = 4096;

  private final int fd;
  private final long buffer = Arena.global().allocate(BUFFER_BYTES).address();

  private ServerLog(int fd) {
    this.fd = fd;
  }

  /** Has {@link System#err} write there from now on, whatever standard error is to be. */
  static void keep() {
    System.setErr(
        new PrintStream(new ServerLog(Posix.dup(STANDARD_ERROR)), true, StandardCharsets.UTF_8));
  }

  @Override
  public void write(int value) throws IOException {
    write(new byte[] {(byte) value}, 0, 1);
  }

  @Override
  public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
    int at = offset;
    while (at < offset + length) {
      int piece = Math.min(BUFFER_BYTES, offset + length - at);
      Memory.put(buffer, Arrays.copyOfRange(bytes, at, at + piece), piece);
      long written = Posix.write(fd, buffer, piece);
      if (written <= 0) {
        throw new IOException("the server's log cannot be written: error " + -written);
      }
      at += (int) written;
    }
  }
}
