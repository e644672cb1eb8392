// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** The checkout that is being built. */
public final class ProjectTree {
  private static final Set<String> NOT_SOURCES = Set.of("target", ".git", ".idea", "node_modules");

  public static final Path ROOT = Path.of(System.getProperty("gpupool.root"));

  private ProjectTree() {}

  /** All files that are neither built nor the version control's own, relative to the root. */
  public static List<Path> files() throws IOException {
    try (Stream<Path> walk = Files.walk(ROOT)) {
      return walk.filter(Files::isRegularFile)
          .map(ROOT::relativize)
          .filter(ProjectTree::isSource)
          .sorted()
          .toList();
    }
  }

  private static boolean isSource(Path path) {
    for (Path name : path) {
      if (NOT_SOURCES.contains(name.toString())) {
        return false;
      }
    }
    return true;
  }
}
