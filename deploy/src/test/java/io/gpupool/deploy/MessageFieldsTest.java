// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The kinds of fields that the control plane's messages have. */
class MessageFieldsTest {
  private static final Path MESSAGES = Path.of("protocol/control/src/main/protobuf/gpupool/v1");

  /**
   * The generated code of a map field reads the descriptors of all messages at its first use, some
   * ten milliseconds for which the attach of each program would wait.
   */
  @Test
  void fields_none_isAMap() throws IOException {
    List<Path> files =
        ProjectTree.files().stream().filter(file -> file.startsWith(MESSAGES)).toList();
    assertThat(files).hasSizeGreaterThan(2);
    List<String> maps = new ArrayList<>();
    for (Path file : files) {
      Files.readAllLines(ProjectTree.ROOT.resolve(file)).stream()
          .filter(line -> line.strip().startsWith("map<"))
          .forEach(maps::add);
    }
    assertThat(maps).as("a list of messages instead").isEmpty();
  }
}
