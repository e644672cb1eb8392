// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The file under a journal. Tests replace it with one that fails. */
interface JournalFile extends AutoCloseable {
  byte[] readAll() throws IOException;

  /** Writes behind the last byte; what was written when it fails is left there. */
  void append(byte[] bytes) throws IOException;

  /** Returns when all is on the disk. */
  void force() throws IOException;

  void truncate(long length) throws IOException;

  @Override
  void close() throws IOException;

  static JournalFile of(Path path) throws IOException {
    FileChannel channel =
        FileChannel.open(
            path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    return new JournalFile() {
      @Override
      public byte[] readAll() throws IOException {
        ByteBuffer content = ByteBuffer.allocate(Math.toIntExact(channel.size()));
        while (content.hasRemaining() && channel.read(content, content.position()) >= 0) {
          // until all is read
        }
        return content.array();
      }

      @Override
      public void append(byte[] bytes) throws IOException {
        ByteBuffer rest = ByteBuffer.wrap(bytes);
        long at = channel.size();
        while (rest.hasRemaining()) {
          at += channel.write(rest, at);
        }
      }

      @Override
      public void force() throws IOException {
        channel.force(true);
      }

      @Override
      public void truncate(long length) throws IOException {
        channel.truncate(length);
      }

      @Override
      public void close() throws IOException {
        channel.close();
      }
    };
  }
}
