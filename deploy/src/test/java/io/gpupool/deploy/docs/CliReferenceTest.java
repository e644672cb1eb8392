// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.command.GpupoolCommand;
import io.gpupool.deploy.ProjectTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/**
 * The page of all commands and options, which the command line's own declarations make. With {@code
 * -Dgpupool.docs.write=true} the test writes it.
 */
class CliReferenceTest {
  private static final Path PAGE = ProjectTree.ROOT.resolve("docs/reference/cli.md");

  @Test
  void page_isWhatTheCommandsDeclare() throws IOException {
    String text = new CliReference().text(GpupoolCommand.commandLine());
    if (Boolean.getBoolean("gpupool.docs.write")) {
      Files.writeString(PAGE, text);
    }
    assertThat(PAGE).as("write it with: deploy/dev docs").hasContent(text);
  }
}
