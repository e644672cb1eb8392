// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The transcripts of README.md and docs/quickstart.md, in their order: each command succeeds or
 * fails as shown, and prints the lines shown, whatever their numbers and names.
 */
class QuickstartIT {
  private static final String REFUSED = "gpupool: the lease is refused";
  private static final Pattern LEASE = Pattern.compile("\\bL\\d+\\b");

  private final List<Program> background = new ArrayList<>();

  @ParameterizedTest
  @ValueSource(strings = {"README.md", "docs/quickstart.md"})
  void transcript_everyCommand_doesWhatItShows(String page) throws IOException {
    assumeTrue(Program.of("sh", "-c", "command -v curl").run().status() == 0, "there is no curl");
    List<Step> steps = steps(Distribution.ROOT.resolve(page));
    assertThat(steps).hasSizeGreaterThan(3);
    String program = CPrograms.example("vector_add").toString();
    try (Pool pool = Pool.start("soft:1")) {
      for (Step step : steps) {
        run(step, pool, program);
      }
    }
  }

  @AfterEach
  void endBackground() {
    background.forEach(Program::close);
  }

  private void run(Step step, Pool pool, String program) {
    if (step.command().startsWith("export ") || step.command().startsWith("gpupool server ")) {
      return;
    }
    boolean detached = step.command().endsWith(" &");
    String command =
        step.command()
            .replaceFirst(" &$", "")
            .replace("--pool 127.0.0.1", "--pool " + pool.address())
            .replace("localhost:7640", "localhost:" + pool.httpPort())
            .replace("deploy/target/quickstart/vector_add", program)
            .replaceFirst("^gpupool ", Distribution.gpupool() + " ");
    command = LEASE.matcher(command).replaceAll(lease(pool));
    Program.Builder builder =
        Program.of("sh", "-c", "exec " + command)
            .in(Distribution.ROOT)
            .with("GPUPOOL_POOL", pool.address());
    if (detached) {
      int before = waitingOrHeld(pool);
      background.add(builder.start());
      Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> waitingOrHeld(pool) > before);
      return;
    }
    Program.Ended ended = builder.run();
    boolean refused = step.output().stream().anyMatch(line -> line.startsWith(REFUSED));
    assertThat(ended.status()).as("%s%n%s", command, ended).isEqualTo(refused ? 75 : 0);
    String printed = masked(ended.output() + "\n" + ended.errors());
    assertThat(step.output()).allSatisfy(line -> assertThat(printed).contains(masked(line)));
  }

  private static String lease(Pool pool) {
    Matcher lease = LEASE.matcher(list(pool, "list"));
    return lease.find() ? lease.group() : "L0";
  }

  private static int waitingOrHeld(Pool pool) {
    return (int) (list(pool, "list").lines().count() + list(pool, "queue").lines().count());
  }

  private static String list(Pool pool, String what) {
    return Program.of(Distribution.gpupool(), "lease", what, "--pool", pool.address())
        .run()
        .output();
  }

  /** Text without the machine's numbers, names and spacing. */
  private static String masked(String text) {
    return text.replaceAll("\\(pid [^,]*,", "(pid,")
        .replaceAll("\\d+(\\.\\d+)?", "#")
        .replaceAll("[ -]+", " ")
        .strip();
  }

  /**
   * A command and the lines that it prints.
   *
   * @param output as the page shows it, which may leave lines out
   */
  private record Step(String command, List<String> output) {}

  private static List<Step> steps(Path page) throws IOException {
    List<Step> steps = new ArrayList<>();
    boolean inBlock = false;
    for (String line : Files.readAllLines(page)) {
      if (line.startsWith("```")) {
        inBlock = line.equals("```console");
      } else if (inBlock && line.startsWith("$ ")) {
        steps.add(new Step(line.substring(2), new ArrayList<>()));
      } else if (inBlock && !line.isBlank()) {
        steps.getLast().output().add(line);
      }
    }
    return steps;
  }
}
