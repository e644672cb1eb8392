// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.watch;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.worker.TestLibrary;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The watching process, on a management library that says what the test has written down. */
@Timeout(60)
class GpuWatchTest {
  @TempDir private Path folder;
  private @Nullable Process process;

  @AfterEach
  void stop() throws InterruptedException {
    if (process != null) {
      process.destroyForcibly().waitFor();
    }
  }

  @Test
  void watch_faultsAndConditions_areToldAsTheyCome() throws IOException {
    write("gpu GPU-a", "gpu GPU-b");
    BufferedReader lines = start("--watch");
    assertThat(lines.readLine())
        .isEqualTo("sample uuid=GPU-a condition=ok used=1048576 temperature=41");
    assertThat(lines.readLine()).startsWith("sample uuid=GPU-b condition=ok");

    write("fault GPU-b 79", "fault GPU-a 0", "condition GPU-b lost");

    assertThat(next(lines, "fault ")).isEqualTo("fault uuid=GPU-b xid=79");
    assertThat(next(lines, "fault ")).isEqualTo("fault uuid=GPU-a xid=0");
    assertThat(next(lines, "sample uuid=GPU-b")).contains("condition=lost");
  }

  @Test
  void watch_sensorsOfACard_areToldAsFarAsItHasThem() throws IOException {
    write(
        "gpu GPU-a",
        "sensor GPU-a power 71250",
        "sensor GPU-a limit 700000",
        "sensor GPU-a performance 2",
        "sensor GPU-a clock0 1980",
        "sensor GPU-a clock1 1965",
        "sensor GPU-a clock2 2619",
        "sensor GPU-a errors0 5",
        "sensor GPU-a errors1 1");

    assertThat(start("--watch").readLine())
        .isEqualTo(
            "sample uuid=GPU-a condition=ok used=1048576 temperature=41 power=71250 limit=700000"
                + " performance=2 graphics=1980 sm=1965 memory=2619 corrected=5 ecc=1");
  }

  @Test
  void watch_dividedCard_faultIsToldOfTheSlicesItConcerns() throws IOException {
    write("gpu GPU-a", "slice MIG-1 1", "slice MIG-2 2", "fault GPU-a 94 2", "fault GPU-a 79");
    BufferedReader lines = start("--watch");

    assertThat(lines.readLine()).startsWith("sample uuid=MIG-1 condition=ok");
    assertThat(next(lines, "fault ")).isEqualTo("fault uuid=MIG-2 xid=94");
    assertThat(next(lines, "fault ")).isEqualTo("fault uuid=MIG-1 xid=79");
    assertThat(next(lines, "fault ")).isEqualTo("fault uuid=MIG-2 xid=79");
  }

  @Test
  void watch_cardsThatReachEachOther_areToldAsPeers() throws IOException {
    write("gpu GPU-a", "gpu GPU-b", "gpu GPU-c", "peers GPU-a GPU-b", "peers GPU-a GPU-c");
    BufferedReader lines = start("--watch");

    assertThat(lines.readLine()).endsWith(" peers=GPU-b,GPU-c");
    assertThat(lines.readLine()).endsWith(" peers=GPU-a");
    assertThat(lines.readLine()).endsWith(" peers=GPU-a");
  }

  @Test
  void probe_dividedCard_namesSlicesAndUndividedCards() throws IOException {
    write("gpu GPU-a", "slice MIG-1 1", "slice MIG-2 2", "gpu GPU-b");

    assertThat(start("--probe").lines())
        .containsExactly("part uuid=MIG-1", "part uuid=MIG-2", "part uuid=GPU-b");
  }

  @Test
  void trial_gpuThatWorks_endsWithZero() throws Exception {
    start("--trial");

    assertThat(Objects.requireNonNull(process).waitFor()).isZero();
  }

  private void write(String... lines) throws IOException {
    Files.write(
        folder.resolve("gpus"),
        List.of(lines),
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
  }

  private static String next(BufferedReader lines, String beginning) throws IOException {
    String line = lines.readLine();
    while (line != null && !line.startsWith(beginning)) {
      line = lines.readLine();
    }
    return line;
  }

  private BufferedReader start(String mode) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            "io.gpupool.worker.WorkerMain",
            mode,
            "--libcuda",
            TestLibrary.built("testcuda", "libcuda.so.1").toString(),
            "--libnvml",
            TestLibrary.built("testnvml", "libnvidia-ml.so.1").toString());
    builder.environment().put("TESTNVML", folder.resolve("gpus").toString());
    process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    return process.inputReader();
  }
}
