// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.server.state.etcd.Etcd;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A pool of the servers m0 and m1 over a real etcd. */
final class TwoServers implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofMinutes(10);
  private static final long SMALL_BYTES = 4L << 30;

  private final long totalBytes;
  private final Etcd etcd;
  private final List<Pool> servers = new ArrayList<>();

  /** A way to start a server. */
  interface Starter {
    Pool start(String... options);
  }

  private TwoServers(Path folder, long totalBytes) throws Exception {
    this.totalBytes = totalBytes;
    etcd = Etcd.start(folder, 1);
  }

  /** Starts servers with two GPUs of 1 GiB each; skips the test where there is no etcd. */
  static TwoServers start(Path folder) throws Exception {
    return start(folder, SMALL_BYTES, options -> Pool.start("soft:2,mem=1Gi", options));
  }

  /**
   * Starts servers, and waits until both are there; skips the test where there is no etcd.
   *
   * @param totalBytes of all GPUs
   */
  static TwoServers start(Path folder, long totalBytes, Starter starter) throws Exception {
    TwoServers pool = new TwoServers(folder, totalBytes);
    try {
      for (String name : List.of("m0", "m1")) {
        pool.servers.add(starter.start(pool.options(name)));
      }
      pool.awaitAllFree();
      return pool;
    } catch (RuntimeException | AssertionError e) {
      pool.close();
      throw e;
    }
  }

  /** Returns the options that make a server one of the pool. */
  String[] options(String name) {
    return new String[] {"--name", name, "--host", "127.0.0.1", "--state", etcd.url("moves")};
  }

  Pool first() {
    return servers.getFirst();
  }

  Pool second() {
    return servers.getLast();
  }

  /** Waits until the pool has no lease. */
  void awaitAllFree() {
    await().atMost(LIMIT).until(() -> first().freeBytes() == totalBytes);
  }

  /** Waits until so many programs, and no others, have made calls on their leases at a server. */
  void awaitAllAt(String server, int programs) {
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> {
          assertThat(first().leases())
              .hasSize(programs)
              .allSatisfy(
                  lease -> assertThat(lease.getGrants(0).getGrant().getServer()).isEqualTo(server));
          first().requireWorking(programs, 0);
        });
  }

  @Override
  public void close() {
    servers.forEach(Pool::close);
    etcd.close();
  }
}
