// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.Optional;

/**
 * The identity of a file, which tells a socket from the next one of the same name. The inode number
 * alone does not, because the next file may get it again. A socket's modification time changes only
 * when the socket is made.
 */
record FileIdentity(Object key, FileTime made) {
  /** Returns the file's identity; empty if there is no such file. */
  static Optional<FileIdentity> of(Path path) {
    try {
      BasicFileAttributes file =
          Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
      return Optional.of(new FileIdentity(file.fileKey(), file.lastModifiedTime()));
    } catch (IOException e) {
      return Optional.empty();
    }
  }
}
