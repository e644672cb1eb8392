// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ranks that Open MPI starts, each on a lease of its own, on two servers. */
class MpiIT {
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  /** Debian's, which has its packages. */
  private static final String PYTHON = "/usr/bin/python3";

  @TempDir static Path shared;
  @TempDir Path folder;
  private static SystemTool mpirun;
  private static TwoServers servers;

  @BeforeAll
  static void start() throws Exception {
    mpirun = SystemTool.find("mpirun").orElse(null);
    assumeTrue(mpirun != null, "there is no mpirun (apt-get install openmpi-bin)");
    servers = TwoServers.start(shared);
  }

  @AfterAll
  static void stop() {
    if (servers != null) {
      servers.close();
    }
  }

  /** Runs a command on two ranks, one a server. */
  private static Program.Ended run(Object... command) {
    List<Object> line = new ArrayList<>(List.of(mpirun.path(), "--oversubscribe"));
    for (String server : List.of("m0", "m1")) {
      if (server.equals("m1")) {
        line.add(":");
      }
      line.addAll(List.of("-n", 1, Distribution.gpupool(), "run", "-p", "0.2"));
      line.addAll(List.of("--pool", servers.first().address(), "--select", "server=" + server));
      line.add("--");
      line.addAll(List.of(command));
    }
    Program.Ended ended =
        Program.of(line.toArray())
            .with("OMPI_ALLOW_RUN_AS_ROOT", 1)
            .with("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", 1)
            .run(PATIENCE);
    assertThat(ended.status()).as(ended.toString()).isZero();
    servers.first().awaitIdle();
    return ended;
  }

  @Test
  void training_onTwoServers_givesTheWeightsOfOneProcess() {
    Path weights = NcclTraining.alone(servers.first(), folder);
    Object[] command = NcclTraining.command("--expect", weights, "--id-file", folder.resolve("id"));
    Program.Ended ended = run(command);
    assertThat(ended.output().split(NcclTraining.DONE, -1)).as(ended.toString()).hasSize(3);
  }

  @Test
  void ranksOfMpi4py_allReduceByNccl_getTheSum() {
    boolean isThere = Program.of(PYTHON, "-c", "import mpi4py").run().status() == 0;
    assumeTrue(isThere, "there is no mpi4py (apt-get install python3-mpi4py)");
    Program.Ended ended = run(PYTHON, Distribution.NCCL_EXAMPLES.resolve("mpi_all_reduce.py"));
    assertThat(ended.output())
        .as(ended.toString())
        .contains("mpi_all_reduce: OK, rank 0 of 2", "mpi_all_reduce: OK, rank 1 of 2");
  }
}
