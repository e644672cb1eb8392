// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MainTest {
  private record Ended(int status, String errors) {}

  private static Ended run(String line) {
    PrintStream before = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    try (PrintStream errors = new PrintStream(said, true, StandardCharsets.UTF_8)) {
      System.setErr(errors);
      int status = Main.commandLine().execute(line.isBlank() ? new String[0] : line.split(" "));
      return new Ended(status, said.toString(StandardCharsets.UTF_8));
    } finally {
      System.setErr(before);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "''|Missing required subcommand",
        "controler|controller",
        "controller|--pool",
        "controller --pool a --ca-days|--ca-days",
        "controller --pool a --ca-days x|'x'",
        "controller --pool a:b:c/d --namespace n|is no address of a pool",
        "controller --pool a|POD_NAMESPACE",
        "controller --pool a --namespace n --webhook-port 70000|--webhook-port 70000",
        "controller --pool a --namespace n --health-port=-1|--health-port -1",
        "controller --pool a --namespace n --ca-days 0|life",
        "controller --pool a --namespace n --certificate-days 0|life",
        "controller --pool a --namespace n --grace soon|soon",
        "controller --pool a --namespace n --certificates some|some",
        "node|--pool",
        "node --pool a|NODE_NAME",
        "node --pool a --node n --max-devices 5|at most 5 devices",
        "node --pool a --node n --dra|--cdi-folder",
        "node --pool a --node n --agent-folder run|must be a folder of the node",
        "node --pool a --node n --health-port 65536|--health-port 65536",
      })
  void options_wrong_areRefusedWithTheReason(String line, String reason) {
    Ended ended = run(line);
    assertThat(ended.status()).as(ended.errors()).isEqualTo(2);
    assertThat(ended.errors()).contains(reason);
  }
}
