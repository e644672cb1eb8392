// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the container image has: the distribution with the program for Kubernetes laid over it. */
class KubernetesProgramIT {
  private static final Path OVER = Distribution.DEPLOY.resolve("target/gpupool-k8s");

  @TempDir static Path folder;
  private static Path program;

  @BeforeAll
  static void lay() {
    Path home = folder.resolve("gpupool");
    assertThat(bare("cp", "-a", Distribution.HOME, home).status()).isZero();
    assertThat(bare("cp", "-a", OVER + "/.", home).status()).isZero();
    program = home.resolve("bin/gpupool-k8s");
  }

  @Test
  void version_noJavaInstalled_isPrinted() {
    Program.Ended ended = bare(program, "version");
    assertThat(ended.output()).as(ended.errors()).startsWith("gpupool-k8s ");
    assertThat(ended.status()).isZero();
  }

  @Test
  void command_none_saysWhichThereAre() {
    Program.Ended ended = bare(program);
    assertThat(ended.errors()).contains("Missing required subcommand").contains("version");
    assertThat(ended.status()).isEqualTo(2);
  }

  @Test
  void thirdParty_everyJar_isListedWithItsLicence() throws IOException {
    String list = Files.readString(OVER.resolve("share/THIRD-PARTY-k8s.txt"));
    List<String> unlisted = new ArrayList<>();
    try (Stream<Path> jars = Files.list(OVER.resolve("lib/k8s"))) {
      for (Path jar : jars.toList()) {
        String artifact = jar.getFileName().toString().replaceFirst("-\\d.*\\.jar$", "");
        if (!artifact.equals("k8s-plugin") && !list.contains(":" + artifact + ":")) {
          unlisted.add(artifact);
        }
      }
    }
    assertThat(unlisted).isEmpty();
  }

  /** With nothing in the environment but where the system's own programs are. */
  private static Program.Ended bare(Object... command) {
    List<Object> line = new ArrayList<>(List.of("env", "-i", "PATH=/usr/bin:/bin"));
    line.addAll(List.of(command));
    return Program.of(line.toArray()).in(folder).run();
  }
}
