// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;

/** The example {@code data_parallel}, which trains a small network with NCCL. */
final class NcclTraining {
  /** What each rank prints when it has the weights that it should have. */
  static final String DONE = "data_parallel: OK";

  private static final Path KERNELS = Distribution.NCCL_EXAMPLES.resolve("kernels.ptx");

  private NcclTraining() {}

  static Object[] command(Object... options) {
    Object[] command = {CPrograms.ncclExample("data_parallel"), "--kernels", KERNELS};
    return Stream.concat(Arrays.stream(command), Arrays.stream(options)).toArray();
  }

  /** Trains in one process without any other rank; returns the file with the weights. */
  static Path alone(Pool pool, Path folder) {
    Path weights = folder.resolve("weights");
    Program.Ended alone =
        pool.run(new String[] {"-p", "0.2"}, command("--ranks", 1, "--save", weights)).run();
    assertThat(alone.output()).as(alone.toString()).contains(DONE);
    return weights;
  }
}
