// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.FreePort;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * DistributedDataParallel of PyTorch under torchrun on software GPUs: it gives the losses of one
 * process on the processor.
 */
class TorchDistributedIT {
  private static final Duration PATIENCE = Duration.ofMinutes(10);
  private static final Path SCRIPT = Distribution.DEPLOY.resolve("src/test/python/distributed.py");
  private static final String GPUS = "soft:2,mem=2Gi,cc=8.9";
  private static final long POOL_BYTES = 8L << 30;

  @TempDir Path folder;

  @Test
  void training_onLeasesOfTwoServers_hasTheProcessorsLosses() throws Exception {
    PyTorch torch = PyTorch.assumed();
    TwoServers.Starter starter = options -> Pool.start(GPUS, options);
    try (TwoServers pool = TwoServers.start(folder, POOL_BYTES, starter)) {
      int port = FreePort.find();
      try (Program first = node(torch, pool.first(), 0, port).start();
          Program second = node(torch, pool.first(), 1, port).start()) {
        for (Program node : List.of(first, second)) {
          assertThat(node.awaitEnd(PATIENCE).status()).as(node.report()).isZero();
        }
        assertThat(first.output()).contains("distributed: rank 0 of 2: OK");
        assertThat(second.output()).contains("distributed: rank 1 of 2: OK");
      }
      pool.first().awaitIdle();
    }
  }

  @Test
  void training_onTwoGpusOfOneLease_hasTheProcessorsLosses() {
    PyTorch torch = PyTorch.assumed();
    String[] share = {"-n", "2", "-p", "0.5"};
    try (Pool pool = Pool.start(GPUS)) {
      Program.Ended ended =
          run(pool, share, torch, "--standalone", "--nproc-per-node", 2, SCRIPT).run(PATIENCE);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.output())
          .contains("distributed: rank 0 of 2: OK")
          .contains("distributed: rank 1 of 2: OK");
      pool.awaitIdle();
    }
  }

  /** The only process of one of two nodes. */
  private static Program.Builder node(PyTorch torch, Pool pool, int rank, int port) {
    return run(
        pool,
        new String[] {"-p", "0.5", "--select", "server=m" + rank},
        torch,
        "--nnodes",
        2,
        "--nproc-per-node",
        1,
        "--node-rank",
        rank,
        "--master-addr",
        "127.0.0.1",
        "--master-port",
        port,
        SCRIPT);
  }

  private static Program.Builder run(
      Pool pool, String[] share, PyTorch torch, Object... arguments) {
    Object[] line = new Object[arguments.length + 3];
    line[0] = torch.interpreter();
    line[1] = "-m";
    line[2] = "torch.distributed.run";
    System.arraycopy(arguments, 0, line, 3, arguments.length);
    return pool.run(share, line).with("GPUPOOL_TORCH_FALLBACK", "cpu").with("OMP_NUM_THREADS", 1);
  }
}
