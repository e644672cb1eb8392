// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * A folder of the node with the shim's libraries, or with gpupool's NCCL, which containers mount
 * file by file. A library is replaced by a new file of the same name, so running containers keep
 * theirs.
 */
final class ShimFolder {
  private static final String TEMPORARY = ".new-";

  private final Path folder;

  ShimFolder(Path folder) {
    this.folder = folder;
  }

  /** Copies the other folder's files, except those that are the same already. */
  void fillFrom(Path source) throws IOException {
    if (!Files.isDirectory(source)) {
      throw new IOException("there is no folder " + source + " (--shim-source)");
    }
    try {
      Files.createDirectories(folder);
      removeTemporary();
      copyAll(source);
    } catch (FileSystemException e) {
      throw Obstacle.named(folder, e);
    }
  }

  private void copyAll(Path source) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(source)) {
      for (Path file : files) {
        Path target = folder.resolve(file.getFileName());
        if (Files.isSymbolicLink(file)) {
          link(target, Files.readSymbolicLink(file));
        } else if (Files.isRegularFile(file) && !isSame(file, target)) {
          copy(file, target);
        }
      }
    }
  }

  private static boolean isSame(Path file, Path target) throws IOException {
    return Files.isRegularFile(target) && Files.mismatch(file, target) < 0;
  }

  private void copy(Path file, Path target) throws IOException {
    Path made = Files.createTempFile(folder, TEMPORARY, "");
    Files.copy(file, made, StandardCopyOption.REPLACE_EXISTING);
    Files.setPosixFilePermissions(made, PosixFilePermissions.fromString("rwxr-xr-x"));
    put(made, target);
  }

  private static void put(Path made, Path target) throws IOException {
    Obstacle.removeFrom(target);
    Files.move(made, target, StandardCopyOption.ATOMIC_MOVE);
  }

  private void link(Path target, Path to) throws IOException {
    if (Files.isSymbolicLink(target) && Files.readSymbolicLink(target).equals(to)) {
      return;
    }
    Path made = folder.resolve(TEMPORARY + target.getFileName());
    Files.createSymbolicLink(made, to);
    put(made, target);
  }

  /** Removes what a killed process has left. */
  private void removeTemporary() throws IOException {
    try (DirectoryStream<Path> left = Files.newDirectoryStream(folder, TEMPORARY + "*")) {
      for (Path file : left) {
        Files.delete(file);
      }
    }
  }

  /** Removes the folder with everything in it. */
  void remove() throws IOException {
    if (Files.isDirectory(folder)) {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
        for (Path file : files) {
          Files.delete(file);
        }
      }
      Files.delete(folder);
    }
  }
}
