// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.wire.TextMessage;
import io.gpupool.worker.control.ControlLink;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.os.TestFiles;
import io.gpupool.worker.os.UnixSocket;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.warmup.WarmUpFrames;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A worker as a process, under a pool-server played by the test. */
@Timeout(120)
abstract class WorkerProcessFixture {
  static final String TOKEN = "a token";
  private static final long QUOTA_BYTES = 1 << 20;
  private static final int REPLY = 1;
  static final int FATAL = 5;
  private static final int OUTPUT = 6;

  @TempDir Path folder;

  final String name = "gpupool-worker-test-" + ProcessHandle.current().pid();
  UnixListener listener;

  /** What stands before the command line of the Java runtime. */
  List<String> launcher = List.of();

  @Nullable UnixSocket socket;

  @SuppressWarnings("NullAway.Init") // each test starts one
  Process worker;

  @SuppressWarnings("NullAway.Init") // set with the worker
  ControlLink control;

  @BeforeEach
  void listen() throws Throwable {
    listener = new UnixListener(name);
  }

  @AfterEach
  void stop() throws Exception {
    listener.close();
    if (socket != null) {
      socket.close();
    }
    if (worker != null) {
      worker.destroyForcibly().waitFor();
    }
  }

  UnixSocket socket() {
    return Objects.requireNonNull(socket);
  }

  Process start(String... arguments) throws IOException {
    return startIn(Map.of(), arguments);
  }

  Process startIn(Map<String, String> environment, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(launcher);
    command.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            // Half of a short life would go into compiling it.
            "-XX:TieredStopAtLevel=1",
            "-Xmx256m",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            "io.gpupool.worker.WorkerMain"));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("GPUPOOL_WORKER_TOKEN", TOKEN);
    builder.environment().putAll(environment);
    return builder.redirectError(folder.resolve("errors").toFile()).start();
  }

  void startSpare() throws Throwable {
    startSpare("--gpus", "soft:2,mem=64Mi");
  }

  void startSpare(String... options) throws Throwable {
    startSpareIn(Map.of(), options);
  }

  void startSpareIn(Map<String, String> environment, String... options) throws Throwable {
    assertThat(startWorkerIn(environment, options)).isEqualTo(worker.pid());
  }

  /** Starts a worker, perhaps as a child of the process; returns its process id. */
  long startWorkerIn(Map<String, String> environment, String... options) throws Throwable {
    List<String> arguments = new ArrayList<>(List.of("--control", "@" + name));
    arguments.addAll(List.of(options));
    worker = startIn(environment, arguments.toArray(String[]::new));
    UnixSocket accepted = listener.accept();
    socket = accepted;
    control = new ControlLink(accepted);
    TextMessage hello = control.receive().orElseThrow();
    assertThat(hello.type()).isEqualTo("hello");
    assertThat(hello.get("token")).contains(TOKEN);
    assertThat(control.receive().orElseThrow().type()).isEqualTo("ready");
    return Long.parseLong(hello.require("pid"));
  }

  int attach() throws IOException {
    return attach(null);
  }

  int attach(@Nullable String uuid) throws IOException {
    return attach(uuid, null);
  }

  int attach(@Nullable String uuid, @Nullable String resumeWindow) throws IOException {
    return attach(uuid, resumeWindow, QUOTA_BYTES);
  }

  int attach(@Nullable String uuid, @Nullable String resumeWindow, long quotaBytes)
      throws IOException {
    Path ledger = folder.resolve("ledger");
    Files.write(ledger, new byte[(int) Ledger.sizeBytes(1)]);
    control.send(
        TextMessage.ofType("assign")
            .put("session", "s1")
            .put("lease", "l1")
            .put("slot", 5)
            .put("gpus", "1:" + quotaBytes + ":50")
            .putIfPresent("uuids", uuid)
            .putIfPresent("resumeWindow", resumeWindow)
            .build());
    try (ServerFile handed = TestFiles.open(ledger)) {
      socket().sendDescriptor(handed.descriptor());
    }
    return connect();
  }

  /** Gives the session a connection. */
  int connect() throws IOException {
    int[] pair = Posix.socketPair();
    control.send(TextMessage.ofType("attach").build());
    socket().sendDescriptor(pair[1]);
    Posix.close(pair[1]);
    return pair[0];
  }

  TextMessage nextButStats() throws Exception {
    TextMessage message = control.receive().orElseThrow();
    while (message.type().equals("stats")) {
      message = control.receive().orElseThrow();
    }
    return message;
  }

  /**
   * Sends frames and reads up to the reply of the last of them, which has tag 9.
   *
   * @return what kernels printed meanwhile
   */
  static String exchange(int fd, WarmUpFrames frames) {
    return exchange(fd, frames, 0);
  }

  static String exchange(int fd, WarmUpFrames frames, int lastResult) {
    StringBuilder printed = new StringBuilder();
    long buffer = Posix.map(1 << 20);
    send(fd, frames, buffer);
    int kind;
    int tag;
    do {
      receive(fd, buffer, 16);
      kind = Memory.getInt(buffer + 4);
      tag = Memory.getInt(buffer + 8);
      int result = Memory.getInt(buffer + 12);
      receive(fd, buffer + 16, Memory.getInt(buffer) - 16);
      if (kind == OUTPUT) {
        printed.append(tag == 0 ? "" : "stderr: ").append(Memory.text(buffer + 16, result));
      } else {
        assertThat(result).as("result of tag %d", tag).isEqualTo(tag == 9 ? lastResult : 0);
      }
    } while (kind != REPLY || tag != 9);
    Posix.unmap(buffer, 1 << 20);
    return printed.toString();
  }

  static void receive(int fd, long address, int length) {
    int at = 0;
    while (at < length) {
      long count = Posix.recv(fd, address + at, length - at, 0);
      assertThat(count).as("the call stream ended").isPositive();
      at += (int) count;
    }
  }

  /** Sends frames without waiting for an answer. */
  static void send(int fd, WarmUpFrames frames) {
    long buffer = Posix.map(1 << 20);
    send(fd, frames, buffer);
    Posix.unmap(buffer, 1 << 20);
  }

  private static void send(int fd, WarmUpFrames frames, long buffer) {
    byte[] bytes = frames.take();
    Memory.put(buffer, bytes, bytes.length);
    Posix.sendAll(fd, buffer, bytes.length, false);
  }
}
