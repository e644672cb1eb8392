// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The guide's requests that change the pool, in their order, with curl. */
class RestGuideIT {
  private static final Path GUIDE = Distribution.ROOT.resolve("docs/reference/rest.md");
  private static final Pattern LEASE = Pattern.compile("\"id\":\"(L\\d+)\",\"ticket\"");

  @TempDir Path state;

  @Test
  void guide_everyRequest_isAnsweredWell() throws IOException {
    assumeTrue(Program.of("sh", "-c", "command -v curl").run().status() == 0, "there is no curl");
    List<String> commands =
        Files.readAllLines(GUIDE).stream()
            .filter(line -> line.startsWith("curl ") && line.contains("$POOL"))
            .toList();
    assertThat(commands).hasSizeGreaterThan(12);
    String[] options = {"--state", state.toString(), "--auth", "tokens", "--name", "gpu-1"};
    try (Pool pool = Pool.start("soft:2,mem=139Gi", options)) {
      String token = Files.readString(state.resolve("admin.token")).strip();
      String lease = "";
      for (String command : commands) {
        Program.Ended ended =
            Program.of("sh", "-c", command.replace("curl ", "curl -sSf ").replace("L12", lease))
                .with("POOL", "http://127.0.0.1:" + pool.httpPort() + "/api/v1")
                .with("AUTH", "Authorization: Bearer " + token)
                .with("JSON", "Content-Type: application/json")
                .run();
        assertThat(ended.status()).as("%s%n%s", command, ended.errors()).isZero();
        Matcher granted = LEASE.matcher(ended.output());
        lease = granted.find() ? granted.group(1) : lease;
      }
      assertThat(lease).isNotEmpty();
    }
  }
}
