// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * A descriptor of a file that the pool-server shares with its workers, handed over open: a worker
 * can open none of the server's files itself. Owned by the thread that starts the session.
 */
public record ServerFile(int descriptor) implements AutoCloseable {
  private static final long PAGE_BYTES = 4096;

  /**
   * Maps a part of the file, for as long as this process lives.
   *
   * @throws IOException if the file is shorter, or cannot be mapped
   */
  public MemorySegment map(long offset, long lengthBytes) throws IOException {
    long length = Posix.length(descriptor);
    if (offset < 0 || lengthBytes > length - offset) {
      throw new IOException(
          "the server's file has " + length + " bytes, not " + lengthBytes + " from " + offset);
    }
    // Mappings begin where pages do.
    long inPage = offset % PAGE_BYTES;
    long address = Posix.mapShared(descriptor, offset - inPage, inPage + lengthBytes);
    if (address == 0) {
      throw new IOException("the server's file cannot be mapped");
    }
    return MemorySegment.ofAddress(address + inPage).reinterpret(lengthBytes);
  }

  @Override
  public void close() {
    Posix.close(descriptor);
  }
}
