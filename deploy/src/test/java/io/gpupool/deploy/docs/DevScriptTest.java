// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.deploy.ProjectTree;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The script of short commands, and what CONTRIBUTING.md says of it. */
class DevScriptTest {
  private static final Pattern QUOTED = Pattern.compile("`deploy/dev ([^`]+)`");
  private static final Pattern TESTS = Pattern.compile("-D(?:it\\.)?test=([\\w,]+)");

  @Test
  void commands_thatTheDocumentsQuote_areKnown() throws Exception {
    List<String> quoted = new ArrayList<>();
    for (Page page : Page.all()) {
      for (Page.Line line : page.lines()) {
        QUOTED.matcher(line.text()).results().forEach(found -> quoted.add(found.group(1)));
      }
    }
    assertThat(quoted).hasSizeGreaterThan(8);
    for (String command : quoted) {
      assertThat(run("--dry-run " + command))
          .startsWith(command.equals("--help") ? "usage" : "./mvnw ");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "fuzz",
        "cuda",
        "crash",
        "cuts",
        "controller",
        "cluster",
        "outage",
        "pods",
        "webhook",
        "clean",
        "training",
        "moves",
        "moves model",
        "containers"
      })
  void check_everyOne_namesTestsThatExist(String command) throws Exception {
    Set<String> files =
        ProjectTree.files().stream()
            .map(Path::getFileName)
            .map(Path::toString)
            .collect(Collectors.toSet());
    List<String> tests =
        TESTS
            .matcher(run("--dry-run " + command))
            .results()
            .flatMap(found -> List.of(found.group(1).split(",")).stream())
            .filter(test -> !test.equals("none"))
            .map(test -> test + ".java")
            .toList();
    assertThat(tests).isNotEmpty().allMatch(files::contains);
  }

  @Test
  void command_thatIsUnknown_isRefusedWithAHint() throws Exception {
    Process process = start("--dry-run nothing");
    assertThat(process.waitFor()).isEqualTo(2);
    assertThat(new String(process.getErrorStream().readAllBytes(), UTF_8))
        .contains("unknown command 'nothing'")
        .contains("--help");
  }

  private static String run(String arguments) throws Exception {
    Process process = start(arguments);
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor()).as(arguments).isZero();
    return output;
  }

  private static Process start(String arguments) throws IOException {
    List<String> command =
        new ArrayList<>(List.of(ProjectTree.ROOT.resolve("deploy/dev").toString()));
    command.addAll(List.of(arguments.split(" ")));
    return new ProcessBuilder(command).directory(ProjectTree.ROOT.toFile()).start();
  }
}
