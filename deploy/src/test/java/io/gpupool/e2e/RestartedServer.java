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
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
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
  private final StringBuilder formerLogs = new StringBuilder();
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
   * @param more options
   */
  static RestartedServer start(Path folder, String name, String gpus, String state, String... more)
      throws IOException {
    Path runDirectory = folder.resolve("run-" + name);
    List<String> options = new ArrayList<>(List.of("--name", name, "--state", state));
    options.addAll(List.of("--run-dir", runDirectory.toString()));
    options.addAll(List.of(more));
    return new RestartedServer(FreePort.find(), gpus, options.toArray(String[]::new), runDirectory);
  }

  /** Returns the server that runs now. */
  Pool pool() {
    return pool;
  }

  /** Kills the server with SIGKILL and waits until it is dead. */
  void kill() {
    pool.server().kill();
    pool.close();
    formerLogs.append(pool.server().errors());
  }

  /** Returns what it has logged, with what its processes that were killed have. */
  String log() {
    return formerLogs + pool.server().errors();
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
    awaitNothingLeft(freeBytes, Duration.ZERO);
  }

  /**
   * Does so for longer.
   *
   * @param window the resume window, if something is cleared only by its end
   */
  void awaitNothingLeft(long freeBytes, Duration window) {
    await()
        .atMost(CLEAN.plus(window))
        .untilAsserted(() -> {
          assertThat(pool.leases()).isEmpty();
          assertThat(pool.sessions()).isEmpty();
          assertThat(pool.freeBytes()).isEqualTo(freeBytes);
          assertThat(ofWorkers()).isEmpty();
        });
  }

  /** Returns the files of sessions and their workers in the run directory. */
  private List<String> ofWorkers() {
    return files(Pattern.compile("(session|worker)-.*"));
  }

  /** Returns the names of the records that the server's next process finds of sessions. */
  List<String> sessionRecords() {
    return files(Pattern.compile("session-.*"));
  }

  private List<String> files(Pattern pattern) {
    try (Stream<Path> files = Files.list(runDirectory)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> pattern.matcher(name).matches())
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
