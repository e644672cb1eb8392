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
  /** Source folders all of whose packages are marked; the list only grows. */
  private static final Set<String> MARKED =
      Set.of("pool-server/soft-gpu/src/main/java", "pool-server/worker/src/main/java");

  @Test
  void packages_ofMarkedFolders_areAllNullMarked() throws IOException {
    Set<Path> packages = new TreeSet<>();
    Set<Path> marked = new TreeSet<>();
    for (Path path : ProjectTree.files()) {
      if (path.toString().endsWith(".java") && MARKED.stream().anyMatch(path::startsWith)) {
        packages.add(path.getParent());
        if (path.endsWith("package-info.java")
            && Files.readString(ProjectTree.ROOT.resolve(path)).contains("\n@NullMarked\n")) {
          marked.add(path.getParent());
        }
      }
    }
    assertThat(packages).hasSizeGreaterThan(20);
    assertThat(marked).isEqualTo(packages);
  }
}
