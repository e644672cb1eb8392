// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.files;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** A file that no other user may read, not even while it is being written. */
public final class PrivateFile {
  static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

  /** The mishap that a file outlives once it is written. */
  public enum Outlives {
    /** A crash of the server. */
    PROCESS,
    /** A loss of power. */
    POWER
  }

  private PrivateFile() {}

  /** Opens a new file for writing, in place of one of its name. */
  public static FileChannel create(Path file) throws IOException {
    Files.deleteIfExists(file);
    return FileChannel.open(
        file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNER_ONLY);
  }

  /** Writes a file anew; nobody finds half of it who comes when this has returned. */
  public static void write(Path file, ByteBuffer content, Outlives outlives) throws IOException {
    try (FileChannel channel = create(file)) {
      while (content.hasRemaining()) {
        int ignored = channel.write(content);
      }
      if (outlives == Outlives.POWER) {
        channel.force(true);
      }
    }
  }

  /**
   * Writes a file in place of the one that there is, of which all or nothing changes.
   *
   * @param fresh where it is written first, in the same folder
   */
  public static void replace(Path file, Path fresh, ByteBuffer content, Outlives outlives)
      throws IOException {
    write(fresh, content, outlives);
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }
}
