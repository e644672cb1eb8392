// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class ClassOptionsTest {
  @Test
  void class_saidInTwoWays_isRefusedIfTheyDiffer() {
    assertThat(classOf("--latency")).contains("latency");
    assertThat(classOf("--latency", "--class", "latency")).contains("latency");
    assertThat(classOf("--class", "batch")).contains("batch");
    assertThat(classOf()).isEmpty();
    assertThatThrownBy(() -> classOf("--latency", "--class", "batch"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("--latency")
        .hasMessageContaining("--class batch");
  }

  private static Optional<String> classOf(String... arguments) {
    ClassOptions options = new ClassOptions();
    CommandLine.ParseResult ignored = new CommandLine(options).parseArgs(arguments);
    return options.name();
  }
}
