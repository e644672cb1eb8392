// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** An entry on a node that stands in the place of one of gpupool's files. For any thread. */
final class Obstacle {
  private Obstacle() {}

  /**
   * Removes an empty folder. Container runtimes create one in place of a missing file that they are
   * to mount.
   *
   * @throws IOException if something else is there; the message says what to do
   */
  static void removeFrom(Path place) throws IOException {
    if (!Files.isDirectory(place, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    try {
      Files.deleteIfExists(place);
    } catch (FileSystemException e) {
      throw named(place, e);
    }
  }

  /** Returns a failure for people: the file on the node, what is wrong with it, and what to do. */
  static IOException named(Path place, FileSystemException failure) {
    return new IOException(
        "on this node "
            + (failure.getFile() == null ? place : failure.getFile())
            + " is in the way: "
            + reason(failure)
            + "; gpupool's node agent needs "
            + place
            + " for itself, so remove or repair it on the node (the agent tries again)",
        failure);
  }

  private static String reason(FileSystemException failure) {
    return switch (failure) {
      case DirectoryNotEmptyException ignored -> "it is a folder with something in it";
      case FileAlreadyExistsException ignored -> "it is no folder";
      case AccessDeniedException ignored -> "access is denied";
      default ->
          failure.getReason() == null ? failure.getClass().getSimpleName() : failure.getReason();
    };
  }
}
