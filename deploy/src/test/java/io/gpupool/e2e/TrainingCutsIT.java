// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Training loops whose connection is reset every two seconds, for {@code
 * -Dgpupool.cuts.training=SECONDS}: they finish, with the same weights bit for bit.
 */
class TrainingCutsIT {
  private static final int SECONDS = Integer.getInteger("gpupool.cuts.training", 8);
  private static final long EVERY_MILLIS = 2000;
  private static final Duration RUNNING = Duration.ofSeconds(10L * SECONDS + 180);
  private static final Pattern TRAINED = Pattern.compile("OK (\\d+) steps, (weights \\w+, .*)");
  private static final Path TRAIN = Distribution.DEPLOY.resolve("src/test/python/train.py");
  private static final int MANY = 100_000_000;

  @Test
  void loopInCuda_cutEveryTwoSeconds_learnsTheSameWeights() throws Exception {
    Path program = CudaPrograms.make("neural_network");
    try (CutSite site = CutSite.ofOneServer()) {
      Matcher cut = trained(cutWhileItRuns(site, List.of(program, MANY, SECONDS)));
      Program whole = site.program(List.of(), List.of(program, cut.group(1))).start();
      try (whole) {
        assertThat(trained(whole.awaitEnd(RUNNING)).group(2)).isEqualTo(cut.group(2));
      }
      site.awaitNothingLeft();
    }
  }

  @Test
  void loopInPyTorch_cutEveryTwoSeconds_finishes() throws Exception {
    String python = PyTorch.assumed().interpreter();
    try (CutSite site = CutSite.passingOverKernels()) {
      List<Object> command = List.of(python, TRAIN, "cnn", "eager", MANY, SECONDS);
      assertThat(cutWhileItRuns(site, command).output()).contains("train cnn eager: OK, ");
    }
  }

  private static Matcher trained(Program.Ended ended) {
    Matcher said = TRAINED.matcher(ended.output());
    assertThat(said.find()).as(ended.toString()).isTrue();
    return said;
  }

  private static Program.Ended cutWhileItRuns(CutSite site, List<Object> command)
      throws InterruptedException {
    int cuts = 0;
    try (Program program = site.program(List.of(), command).start()) {
      // Before its session begins, a program has nothing to resume.
      site.awaitWorking();
      long deadline = System.nanoTime() + RUNNING.toNanos();
      while (program.isAlive() && System.nanoTime() < deadline) {
        Thread.sleep(EVERY_MILLIS);
        site.reset();
        cuts++;
      }
      Program.Ended ended = program.awaitEnd();
      CutTally tally = new CutTally();
      tally.add(command.getFirst().toString(), cuts, ended.errors());
      System.out.println(tally);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.errors()).contains("again after");
      site.awaitNothingLeft();
      return ended;
    }
  }
}
