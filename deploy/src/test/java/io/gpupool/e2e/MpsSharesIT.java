// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Leases that use a modelled GPU at the same time, as MPS clients with a part of its
 * multiprocessors each. A kernel takes as long on the part as it is told to.
 */
class MpsSharesIT {
  private static final Pattern UNITS = Pattern.compile("load .*: (\\d+) units in ([0-9.]+) s.*");
  private static final double KERNEL_SECONDS = 0.002;

  @TempDir private static Path folder;

  private static ModelGpu gpu;
  private static BusyPrograms busy;

  @BeforeAll
  static void startPool() throws IOException {
    Map<String, String> environment = MpsDaemon.in(folder).environment();
    gpu = ModelGpu.startIn(environment, "mem=4Gi,context=16Mi", "--sharing", "mps");
    busy = new BusyPrograms(gpu.pool());
  }

  @AfterAll
  static void stopPool() {
    if (gpu != null) {
      gpu.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    gpu.pool().awaitIdle();
  }

  /**
   * How much of a time kernels of a program ran, by its own count; more than 1: several at once.
   */
  private static double running(Program program) throws InterruptedException {
    Matcher before = count(program);
    Thread.sleep(2000);
    Matcher after = count(program);
    double units = Double.parseDouble(after.group(1)) - Double.parseDouble(before.group(1));
    double seconds = Double.parseDouble(after.group(2)) - Double.parseDouble(before.group(2));
    return units * KERNEL_SECONDS / seconds;
  }

  /** The most of it in up to three windows, until it is a fifth of the time. */
  private static double mostRunning(Program program) throws InterruptedException {
    double most = running(program);
    for (int more = 0; more < 2 && most < 0.2; more++) {
      most = Math.max(most, running(program));
    }
    return most;
  }

  private static Matcher count(Program program) {
    program.send("how much?");
    Matcher line = UNITS.matcher(program.awaitLine(text -> UNITS.matcher(text).matches()));
    assertThat(line.matches()).isTrue();
    return line;
  }

  @Test
  void programs_ofOneLease_haveItsPartTogetherBesideAnotherLease() throws InterruptedException {
    try (Program two = busy.start("eager 2000000 2", 50);
        Program one = busy.start("eager 2000000", 30)) {
      // Side by side the two had 2. On a busy machine they have less, for want of a processor.
      assertThat(mostRunning(two)).isBetween(0.2, 1.1);
      assertThat(mostRunning(one)).isBetween(0.2, 1.1);
      // Their time counts by the part of the multiprocessors.
      assertThat(busy.partOfTime(two, 600 * BusyPrograms.MILLI)).isLessThan(0.55);
      assertThat(busy.partOfTime(one, 400 * BusyPrograms.MILLI)).isLessThan(0.33);
    }
  }
}
