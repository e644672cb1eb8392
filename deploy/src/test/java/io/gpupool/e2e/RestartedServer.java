// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.server.FreePort;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * A pool server that ends and starts again on the same port, state and run directory, while its
 * workers live on.
 */
final class RestartedServer implements AutoCloseable {
  private static final Duration STOP = Duration.ofSeconds(20);
  private static final Duration CLEAN = Duration.ofSeconds(20);

  private final int port;
  private final String gpus;
  private final String[] options;
  private final Path runDirectory;
  private Pool pool;

  private RestartedServer(int port, String gpus, String[] options, Path runDirectory) {
    this.port = port;
    this.gpus = gpus;
    this.options = options;
    this.runDirectory = runDirectory;
    pool = Pool.startAt(port, gpus, options);
  }

  /**
   * Starts one.
   *
   * @param folder of its run directory; the path of a socket in it must be short
   * @param state a folder, or the URL of an etcd
   */
  static RestartedServer start(Path folder, String name, String gpus, String state)
      throws IOException {
    Path runDirectory = folder.resolve("run-" + name);
    return new RestartedServer(
        FreePort.find(),
        gpus,
        new String[] {"--name", name, "--state", state, "--run-dir", runDirectory.toString()},
        runDirectory);
  }

  /** Returns the server that runs now. */
  Pool pool() {
    return pool;
  }

  /** Kills the server with SIGKILL and waits until it is dead. */
  void kill() {
    pool.server().kill();
    pool.close();
  }

  /** Ends the server with SIGTERM, as for an upgrade, and waits for its end. */
  void stop() {
    Program server = pool.server();
    server.signal("TERM");
    Program.Ended ended = server.awaitEnd(STOP);
    assertThat(ended.status()).as(ended.errors()).isIn(0, 143);
    pool.close();
  }

  /** Starts the server again and waits until its ports are open. */
  void start() {
    pool = Pool.startAt(port, gpus, options);
  }

  /**
   * Starts the server and kills it after some time, whether it has opened its ports by then or not.
   */
  void startAndKillAfter(Duration time) throws InterruptedException {
    try (Program server = Pool.command(port, gpus, options).start()) {
      Thread.sleep(time);
      server.kill();
      server.awaitEnd(STOP);
    }
  }

  /** Waits until no lease, byte, session record or socket of a worker is left. */
  void awaitNothingLeft(long freeBytes) {
    await()
        .atMost(CLEAN)
        .untilAsserted(() -> {
          assertThat(pool.leases()).isEmpty();
          assertThat(pool.sessions()).isEmpty();
          assertThat(pool.freeBytes()).isEqualTo(freeBytes);
          assertThat(ofWorkers()).isEmpty();
        });
  }

  /** Returns the files of sessions and their workers in the run directory. */
  private List<String> ofWorkers() {
    try (Stream<Path> files = Files.list(runDirectory)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.startsWith("session-") || name.startsWith("worker-"))
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    pool.close();
  }
}
