// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The script that compares gpupool with a GPU of this machine, where there is none to compare. */
class VerifyGpuIT {
  private static final Path SCRIPT = Distribution.HOME.resolve("share/verify-gpu");

  @TempDir private Path folder;

  @BeforeAll
  static void needPython() {
    assumeTrue(
        Program.of("python3", "--version").run().status() == 0,
        "verify-gpu needs python3, which is not here");
  }

  @Test
  void verifyGpu_programThatFailsRemotely_isNamedAndTheStatusSaysSo() throws IOException {
    put("vector_add", "exec " + CPrograms.example("vector_add") + " " + Distribution.KERNELS);
    put("silent", "echo nothing of the kind");

    Program.Ended ended = verify("--only", "vector_add,silent");

    assertThat(ended.status()).as(ended.toString()).isEqualTo(1);
    assertThat(ended.output()).contains("0 equal to native, 1 ran", "1 failed");
    assertThat(ended.errors()).contains("silent: remotely: printed no OK");
    assertThat(folder.resolve("report.md"))
        .content()
        .contains("| vector_add: whole | ran |", "| silent | failed |");
  }

  @Test
  void verifyGpu_nothingOfThatName_isRefused() throws IOException {
    put("vector_add", "true");

    Program.Ended ended = verify("--only", "no such case");

    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.errors()).contains("no case has no such case in its name");
  }

  @Test
  void verifyGpu_conformanceOfNcclWithoutTwoGpus_saysThatItSkips() throws IOException {
    put("vector_add", "true");

    Program.Ended ended = verify("--only", "conformance");

    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).containsPattern("skipped +conformance +needs two GPUs here");
  }

  private Program.Ended verify(String... more) {
    return Program.of(
            SCRIPT,
            "--gpus",
            "soft:1,mem=256Mi",
            "--programs",
            folder.resolve("programs"),
            "--report",
            folder.resolve("report.md"),
            more[0],
            more[1])
        .run();
  }

  private void put(String name, String line) throws IOException {
    Path program = Files.createDirectories(folder.resolve("programs")).resolve(name);
    Files.writeString(program, "#!/bin/sh\n" + line + "\n");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
  }
}
