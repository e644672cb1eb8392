// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.state.etcd.Etcd;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The programs of examples/cuda, moved between two servers while they run. */
class MovedProgramsIT {
  @TempDir static Path folder;
  private static final List<Pool> servers = new ArrayList<>();
  private static Etcd etcd;
  private static CudaRuns runs;
  private static ProgramMoves moves;

  @BeforeAll
  static void start() throws Exception {
    CudaRuns.assumeCompiler();
    etcd = Etcd.start(folder, 1);
    for (String name : List.of("m0", "m1")) {
      servers.add(
          Pool.startAsInstalled(
              "soft:1,mem=8Gi", "--spares", "1", "--name", name, "--state", etcd.url("moved")));
    }
    runs = CudaRuns.on(servers.getFirst(), folder);
    moves = new ProgramMoves(servers, runs);
    moves.awaitAllFree();
  }

  @AfterAll
  static void stop() {
    System.out.println(moves);
    if (runs != null) {
      runs.close();
    }
    servers.forEach(Pool::close);
    if (etcd != null) {
      etcd.close();
    }
  }

  @TestFactory
  Stream<DynamicTest> programs_movedAtRandomMoments_giveTheirResults() throws IOException {
    return ProgramMoves.programs().stream()
        .map(program -> {
          String name = program.getFileName().toString();
          return DynamicTest.dynamicTest(
              name,
              () -> moves.run(program, Map.of(), (ended, what) -> requireOk(name, ended, what)));
        });
  }

  private static void requireOk(String name, Program.Ended ended, String what) {
    String all = what + "\n" + ended;
    assertThat(ended.output()).as(all).contains(name + ": OK");
    assertThat(ended.status()).as(all).isZero();
  }
}
