// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What holds for every source file, whatever its language. */
class SourceTreeTest {
  private static final Pattern PROGRAM_TEXT =
      Pattern.compile(".*\\.(java|c|h|cc|cpp|cu|proto|sh|py|js|css|html|svg)");
  private static final String LICENCE = "SPDX-License-Identifier: Apache-2.0";

  /** What others have written keeps their licence, which it names in the same way. */
  private static final String VENDORED = "/vendor/";

  private static final Pattern DISABLED = Pattern.compile("^\\s*@Disabled\\b", Pattern.MULTILINE);

  @Test
  void programText_everyFile_namesItsLicenceAtTheTop() throws IOException {
    List<Path> without = new ArrayList<>();
    for (Path path : ProjectTree.files()) {
      String text = programText(path).orElse(LICENCE);
      // A script's first line is its interpreter's.
      String licence = path.toString().contains(VENDORED) ? "SPDX-License-Identifier: " : LICENCE;
      if (text.lines().limit(2).noneMatch(line -> line.contains(licence))) {
        without.add(path);
      }
    }
    assertThat(without).as("files without a line \"%s\" at the top", LICENCE).isEmpty();
  }

  @Test
  void tests_any_areNotDisabled() throws IOException {
    List<Path> disabled = new ArrayList<>();
    for (Path path : ProjectTree.files()) {
      if (path.toString().endsWith(".java")
          && DISABLED.matcher(Files.readString(ProjectTree.ROOT.resolve(path))).find()) {
        disabled.add(path);
      }
    }
    assertThat(disabled)
        .as(
            "a test that cannot run here assumes what it needs, with the reason; none is switched off")
        .isEmpty();
  }

  private static Optional<String> programText(Path path) throws IOException {
    Path file = ProjectTree.ROOT.resolve(path);
    if (PROGRAM_TEXT.matcher(path.toString()).matches()) {
      return Optional.of(Files.readString(file));
    }
    boolean script = Files.isExecutable(file) && !path.getFileName().toString().contains(".");
    return script
        // Not all that can be run is text: examples may have been built.
        ? Optional.of(Files.readString(file, StandardCharsets.ISO_8859_1))
            .filter(text -> text.startsWith("#!"))
        : Optional.empty();
  }
}
