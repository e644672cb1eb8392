// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The packages in which the compiler checks nulls: NullAway looks at those marked alone. */
class NullMarkedTest {
  /** Source folders that may have packages without the mark; the list only shrinks. */
  private static final Set<Path> UNMARKED =
      Set.of(
          // A program as a user of the pool would write it.
          Path.of("deploy/examples"));

  @Test
  void packages_ofMainCode_areAllNullMarked() throws IOException {
    Set<Path> packages = new TreeSet<>();
    Set<Path> marked = new TreeSet<>();
    for (Path path : ProjectTree.files()) {
      String text = path.toString();
      if (text.contains("src/main/java/")
          && text.endsWith(".java")
          && UNMARKED.stream().noneMatch(path::startsWith)) {
        packages.add(path.getParent());
        if (path.endsWith("package-info.java")
            && Files.readString(ProjectTree.ROOT.resolve(path)).contains("\n@NullMarked\n")) {
          marked.add(path.getParent());
        }
      }
    }
    assertThat(packages).hasSizeGreaterThan(50);
    assertThat(marked).isEqualTo(packages);
  }
}
