// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every command of the guides for operators, in their order, on a server started as they say. */
class OperatorGuideIT {
  private static final Pattern TOKEN_ID = Pattern.compile("(?m)^([0-9a-f]{12}) +vision");
  private static final List<String> GUIDES = List.of("quotas.md", "operating.md");

  @TempDir Path state;
  private Pool pool;

  @Test
  void guide_everyCommand_works() throws IOException {
    List<String> commands = commands();
    assertThat(commands).hasSizeGreaterThan(15);
    String[] options = {"--state", state.toString(), "--auth", "tokens", "--name", "gpu-1"};
    try (Pool started = Pool.start("soft:2,mem=139Gi", options)) {
      pool = started;
      try (Program holder =
          pool.run(new String[] {"-m", "1Gi"}, "sh", "-c", "echo held; exec cat")
              .with("GPUPOOL_TOKEN_FILE", tokenFile())
              .start()) {
        holder.awaitLine("held"::equals);
        for (String command : commands) {
          run(command);
        }
        assertThat(run("gpupool audit --limit 2"))
            .containsSubsequence("tenant.delete", "partition.delete");
      }
    }
  }

  @Test
  void server_onANetworkWithoutAState_saysWhatToGive() {
    Program.Ended ended = Program.of(Distribution.gpupool(), "server", "--gpus", "soft:1").run();
    assertThat(ended.status()).isEqualTo(2);
    assertThat(ended.errors()).contains("--state DIR").contains("--auth none");
  }

  /** Deleting the tenant that the guide works with comes last. */
  private static List<String> commands() throws IOException {
    List<String> commands = new ArrayList<>();
    boolean inBlock = false;
    for (String guide : GUIDES) {
      Path page = Distribution.ROOT.resolve("docs/how-to").resolve(guide);
      for (String line : Files.readAllLines(page)) {
        if (line.startsWith("```")) {
          inBlock = !inBlock;
        } else if (inBlock && isCommand(line)) {
          commands.add(line);
        }
      }
    }
    assertThat(commands.remove("gpupool tenant delete vision")).isTrue();
    commands.add("gpupool partition delete 0/batch");
    commands.add("gpupool tenant delete vision");
    return commands;
  }

  /** Servers themselves are started by tests; one's first words begin like a command, too. */
  private static boolean isCommand(String line) {
    return line.startsWith("gpupool ")
        && !line.startsWith("gpupool server --")
        && !line.startsWith("gpupool server gpu-1 ready:");
  }

  private String run(String command) {
    String text = command;
    if (text.contains("token revoke")) {
      Matcher id = TOKEN_ID.matcher(run("gpupool tenant token list"));
      assertThat(id.find()).isTrue();
      text = text.replaceFirst("[0-9a-f]{12}$", id.group(1));
    }
    text = text.replace("L12", "L1");
    Program.Ended ended =
        Program.of("sh", "-c", Distribution.gpupool() + text.substring("gpupool".length()))
            .with("GPUPOOL_POOL", pool.address())
            .with("GPUPOOL_TOKEN_FILE", tokenFile())
            .run();
    assertThat(ended.status()).as("%s%n%s%s", text, ended.output(), ended.errors()).isZero();
    assertThat(ended.output()).as(text).isNotBlank();
    return ended.output();
  }

  private Path tokenFile() {
    return state.resolve("admin.token");
  }
}
