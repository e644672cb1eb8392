// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.transport.Descriptors;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file that lives in memory alone, mapped here and by workers; ends with this process and those
 * workers.
 */
final class SharedMemory implements AutoCloseable {
  private final Arena arena = Arena.ofShared();
  private final int descriptor;
  private final MemoryFile file;
  private final MemorySegment bytes;

  /** Of zeros; the name is for those who look into {@code /proc}. */
  SharedMemory(String name, long lengthBytes) throws IOException {
    this(Descriptors.memoryFile(name, lengthBytes));
  }

  /** Of what a worker has kept; the descriptor is closed with this, also if this fails. */
  SharedMemory(int descriptor) throws IOException {
    this.descriptor = descriptor;
    try (FileChannel channel =
        FileChannel.open(
            Path.of("/proc/self/fd/" + descriptor),
            StandardOpenOption.READ,
            StandardOpenOption.WRITE)) {
      file = MemoryFile.of(descriptor);
      bytes = channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size(), arena);
    } catch (IOException e) {
      arena.close();
      Descriptors.close(descriptor);
      throw e;
    }
  }

  MemorySegment bytes() {
    return bytes;
  }

  MemoryFile file() {
    return file;
  }

  /** A descriptor for a worker, which the caller must close. */
  FileDescriptor share() {
    try {
      return new FileDescriptor(Descriptors.duplicate(descriptor));
    } catch (IOException e) {
      throw new UncheckedIOException("memory that workers share", e);
    }
  }

  @Override
  public void close() throws IOException {
    arena.close();
    Descriptors.close(descriptor);
  }
}
