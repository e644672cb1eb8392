// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.transport.Descriptors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/** A file in memory alone, by which the server knows it again when a worker hands it back. */
public record MemoryFile(long device, long inode) {
  static MemoryFile of(int descriptor) throws IOException {
    Map<String, Object> facts = facts(descriptor);
    return new MemoryFile(
        (long) Objects.requireNonNull(facts.get("dev")),
        (long) Objects.requireNonNull(facts.get("ino")));
  }

  /**
   * Checks that a descriptor is of this file, whose length nobody can change.
   *
   * @throws IOException if it is of another one
   */
  void check(int descriptor) throws IOException {
    if (!Descriptors.isMemoryFile(descriptor)
        || !of(descriptor).equals(this)
        || !Descriptors.hasFixedLength(descriptor)) {
      throw new IOException("the worker has handed over another file than the server gave it");
    }
  }

  private static Map<String, Object> facts(int descriptor) throws IOException {
    return Files.readAttributes(Path.of("/proc/self/fd/" + descriptor), "unix:dev,ino");
  }
}
