// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import io.gpupool.server.state.etcd.Etcd;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The programs of examples/cuda, moved between two servers with modelled NVIDIA GPUs while they
 * run: they make all their calls, as they do where they stay.
 */
class ModelMovedProgramsIT {
  /** With --movable, memory of cudaMalloc has no handle for other processes. */
  private static final ModelProgram SHARES_MEMORY =
      new ModelProgram("ipc_memory", ModelProgram.Outcome.NEEDS, "1 invalid argument");

  private static final Map<String, ModelProgram> LISTED =
      ModelProgram.all().stream()
          .map(listed -> listed.name().equals(SHARES_MEMORY.name()) ? SHARES_MEMORY : listed)
          .collect(Collectors.toMap(ModelProgram::name, Function.identity()));

  /** A driver numbers conditions, and kernels have their numbers. */
  private static final String OTHER_CONDITION = "graphCondition has another answer than it had";

  @TempDir static Path folder;
  private static final List<ModelGpu> servers = new ArrayList<>();
  private static Etcd etcd;
  private static CudaRuns runs;
  private static ProgramMoves moves;

  @BeforeAll
  static void start() throws Exception {
    CudaRuns.assumeCompiler();
    etcd = Etcd.start(folder, 1);
    for (String name : List.of("m0", "m1")) {
      servers.add(
          ModelGpu.start(
              "mem=8Gi,context=16Mi,sm=16",
              "--movable",
              "--name",
              name,
              "--host",
              "127.0.0.1",
              "--state",
              etcd.url("moved")));
    }
    List<Pool> pools = servers.stream().map(ModelGpu::pool).toList();
    runs = CudaRuns.on(pools.getFirst(), folder);
    moves = new ProgramMoves(pools, runs, OTHER_CONDITION);
    moves.awaitAllFree();
  }

  @AfterAll
  static void stop() {
    System.out.println(moves);
    if (runs != null) {
      runs.close();
    }
    servers.forEach(ModelGpu::close);
    if (etcd != null) {
      etcd.close();
    }
  }

  @TestFactory
  Stream<DynamicTest> programs_movedAtRandomMoments_makeAllTheirCalls() throws IOException {
    return ProgramMoves.programs().stream()
        .map(program -> {
          ModelProgram listed = LISTED.get(program.getFileName().toString());
          return DynamicTest.dynamicTest(
              listed.name(),
              () ->
                  moves.run(
                      program, listed.environment(), (ended, what) -> listed.checkCalls(ended)));
        });
  }
}
