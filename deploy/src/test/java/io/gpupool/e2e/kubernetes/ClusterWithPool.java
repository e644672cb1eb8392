// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Real cluster in which gpupool is installed, and a namespace for pods that use it. */
record ClusterWithPool(Cluster cluster, Installation gpupool, Pods pods) implements AutoCloseable {
  private static final String NAMESPACE = "team";

  /** Prepares a cluster for the installation; what it says are values of the chart. */
  @FunctionalInterface
  interface Preparation {
    String values(Cluster cluster) throws IOException;
  }

  /**
   * Starts the cluster and installs gpupool with one GPU, or skips the test where there is no
   * cluster.
   *
   * @param folder for files that live as long as the cluster
   * @param values of the chart, in YAML, besides those that it needs for tests
   */
  static ClusterWithPool start(int nodes, Path folder, String values) throws IOException {
    return start(nodes, folder, 1, cluster -> Installation.ONE_SERVER + values);
  }

  /**
   * Starts the cluster and installs gpupool in it.
   *
   * @param gpus of the pool
   * @param preparation comes before the installation
   */
  static ClusterWithPool start(int nodes, Path folder, int gpus, Preparation preparation)
      throws IOException {
    assumeTrue(Cluster.missing().isEmpty(), () -> "skipped: " + Cluster.missing().orElseThrow());
    Path image = folder.resolve("program.tar");
    List<String> program = ProgramImage.make(folder.resolve("program"), image);
    Cluster cluster = Cluster.start(nodes);
    try {
      cluster.load(image);
      Installation gpupool = Installation.install(cluster, folder, preparation.values(cluster));
      cluster.kubectlPrints("create", "namespace", NAMESPACE);
      Later.is(() ->
          assertThat(gpupool.offered()).as("hundredths of GPUs on the node").isEqualTo(100 * gpus));
      return new ClusterWithPool(cluster, gpupool, new Pods(cluster, NAMESPACE, program));
    } catch (IOException | RuntimeException | Error e) {
      cluster.close();
      throw e;
    }
  }

  /** Deletes the namespace's pods; fails if leases are left so long after. */
  void deletePods(Duration patience) {
    Later.within(
        patience,
        () -> {
          pods.deleteAll();
          assertThat(gpupool.leases()).as("leases of pods that are gone").isEmpty();
        });
  }

  @Override
  public void close() {
    cluster.close();
  }
}
