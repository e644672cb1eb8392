// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.Ops;
import io.gpupool.wire.TextMessage;
import io.gpupool.worker.control.ControlLink;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.os.TestFiles;
import io.gpupool.worker.os.UnixSocket;
import io.gpupool.worker.session.TestDriver;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.warmup.WarmUpFrames;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The worker as a process, under a pool-server played by the test. */
@Timeout(120)
class WorkerProcessTest {
  private static final String TOKEN = "a token";
  private static final long QUOTA_BYTES = 1 << 20;
  private static final int REPLY = 1;
  private static final int FATAL = 5;
  private static final int OUTPUT = 6;

  @TempDir Path folder;

  private final String name = "gpupool-worker-test-" + ProcessHandle.current().pid();
  private UnixListener listener;
  private @Nullable UnixSocket socket;

  @SuppressWarnings("NullAway.Init") // each test starts one
  private Process worker;

  @SuppressWarnings("NullAway.Init") // set with the worker
  private ControlLink control;

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

  private UnixSocket socket() {
    return Objects.requireNonNull(socket);
  }

  /** A worker on the test driver with a kernel that ends with an error, which stays. */
  private int startFaulty(String afterFault, WarmUpFrames frames) throws Throwable {
    return startFaulty(afterFault, frames, null);
  }

  private int startFaulty(String afterFault, WarmUpFrames frames, @Nullable String resumeWindow)
      throws Throwable {
    startSpareIn(
        Map.of("TESTCUDA_AFTER_FAULT", afterFault),
        "--gpus",
        "all",
        "--libcuda",
        TestDriver.library().toString());
    int stream = attach(null, resumeWindow);
    String image = "testcuda\nkernel fault\nkernel sleep 8\n";
    frames.fenced(Ops.ctxRetainPrimary, 1, 0, 0);
    frames.posted(Ops.imageBegin, 1, image.length());
    frames.postedText(Ops.imageData, image, 1);
    frames.fenced(Ops.moduleLoad, 2, 16, 1, -1, 0, 0, 0);
    frames.postedText(Ops.moduleBindFunction, "fault", 16, 20);
    frames.postedText(Ops.moduleBindFunction, "sleep", 16, 21);
    return stream;
  }

  private Process start(String... arguments) throws IOException {
    return startIn(Map.of(), arguments);
  }

  private Process startIn(Map<String, String> environment, String... arguments) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
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

  private void startSpare() throws Throwable {
    startSpare("--gpus", "soft:2,mem=64Mi");
  }

  private void startSpare(String... options) throws Throwable {
    startSpareIn(Map.of(), options);
  }

  private void startSpareIn(Map<String, String> environment, String... options) throws Throwable {
    List<String> arguments = new ArrayList<>(List.of("--control", "@" + name));
    arguments.addAll(List.of(options));
    worker = startIn(environment, arguments.toArray(String[]::new));
    UnixSocket accepted = listener.accept();
    socket = accepted;
    control = new ControlLink(accepted);
    TextMessage hello = control.receive().orElseThrow();
    assertThat(hello.type()).isEqualTo("hello");
    assertThat(hello.get("token")).contains(TOKEN);
    assertThat(hello.get("pid")).contains(Long.toString(worker.pid()));
    assertThat(control.receive().orElseThrow().type()).isEqualTo("ready");
  }

  private int attach() throws IOException {
    return attach(null);
  }

  private int attach(@Nullable String uuid) throws IOException {
    return attach(uuid, null);
  }

  private int attach(@Nullable String uuid, @Nullable String resumeWindow) throws IOException {
    Path ledger = folder.resolve("ledger");
    Files.write(ledger, new byte[(int) Ledger.sizeBytes(1)]);
    control.send(
        TextMessage.ofType("assign")
            .put("session", "s1")
            .put("lease", "l1")
            .put("slot", 5)
            .put("gpus", "1:" + QUOTA_BYTES + ":50")
            .putIfPresent("uuids", uuid)
            .putIfPresent("resumeWindow", resumeWindow)
            .build());
    try (ServerFile handed = TestFiles.open(ledger)) {
      socket().sendDescriptor(handed.descriptor());
    }
    return connect();
  }

  /** Gives the session a connection. */
  private int connect() throws IOException {
    int[] pair = Posix.socketPair();
    control.send(TextMessage.ofType("attach").build());
    socket().sendDescriptor(pair[1]);
    Posix.close(pair[1]);
    return pair[0];
  }

  private TextMessage nextButStats() throws Exception {
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
  private static String exchange(int fd, WarmUpFrames frames) {
    return exchange(fd, frames, 0);
  }

  private static String exchange(int fd, WarmUpFrames frames, int lastResult) {
    StringBuilder printed = new StringBuilder();
    byte[] bytes = frames.take();
    long buffer = Posix.map(1 << 20);
    Memory.put(buffer, bytes, bytes.length);
    Posix.sendAll(fd, buffer, bytes.length, false);
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

  private static void receive(int fd, long address, int length) {
    int at = 0;
    while (at < length) {
      long count = Posix.recv(fd, address + at, length - at, 0);
      assertThat(count).as("the call stream ended").isPositive();
      at += (int) count;
    }
  }

  @Test
  void session_fromReadyToGoodbye_isServedCountedAndReported() throws Throwable {
    startSpare();
    int stream = attach();
    WarmUpFrames frames = new WarmUpFrames();
    frames.fenced(Ops.ctxRetainPrimary, 1, 0, 0);
    frames.fenced(Ops.memAlloc, 2, 5000, 1);
    frames.fenced(Ops.ctxSynchronize, 9);
    exchange(stream, frames);
    TextMessage stats;
    do {
      stats = control.receive().orElseThrow();
      assertThat(stats.type()).isEqualTo("stats");
    } while (!stats.get("calls").equals(Optional.of("3")));
    assertThat(stats.get("memory")).contains("5120");

    frames.posted(Ops.goodbye);
    byte[] goodbye = frames.take();
    long buffer = Posix.map(4096);
    Memory.put(buffer, goodbye, goodbye.length);
    Posix.sendAll(stream, buffer, goodbye.length, false);
    TextMessage ended = control.receive().orElseThrow();
    while (ended.type().equals("stats")) {
      ended = control.receive().orElseThrow();
    }
    assertThat(ended.get("reason")).contains("goodbye");
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isZero();
    Posix.close(stream);
  }

  @Test
  void session_withAResumeWindow_goesOnWithALaterConnectionAndEndsWithoutOne() throws Throwable {
    startSpare();
    int stream = attach(null, "1500");
    WarmUpFrames frames = new WarmUpFrames();
    frames.fenced(Ops.ctxRetainPrimary, 9, 0, 0);
    exchange(stream, frames);
    Posix.close(stream);
    assertThat(nextButStats().type()).isEqualTo("disconnected");

    int later = connect();
    // The answers from the first on, and then the new one.
    frames.posted(ControlOp.RESUME, 0);
    exchange(later, frames);
    frames.fenced(Ops.memAlloc, 9, 5000, 1);
    exchange(later, frames);
    assertThat(nextButStats().type()).isEqualTo("resumed");

    Posix.close(later);
    TextMessage lost = nextButStats();
    assertThat(lost.type()).isEqualTo("disconnected");
    assertThat(lost.get("reason")).isPresent();
    TextMessage ended = nextButStats();
    assertThat(ended.type()).isEqualTo("ended");
    assertThat(ended.get("reason").orElseThrow())
        .contains("did not come back within its resume window of 1 s");
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isZero();
  }

  @Test
  void program_thatGoesWhileTheDriverNeverReturns_takesTheWorkerWithItInSpiteOfAWindow()
      throws Throwable {
    WarmUpFrames frames = new WarmUpFrames();
    int stream = startFaulty("hangs", frames, "1000");
    frames.launch(Ops.launch, 20, 0);
    frames.fenced(Ops.ctxSynchronize, 9);
    exchange(stream, frames, 700);

    frames.fenced(Ops.ctxResetPrimary, 9, 0);
    byte[] bytes = frames.take();
    long buffer = Posix.map(4096);
    Memory.put(buffer, bytes, bytes.length);
    Posix.sendAll(stream, buffer, bytes.length, false);
    Posix.close(stream);
    assertThat(worker.waitFor(60, TimeUnit.SECONDS)).as("the worker ends").isTrue();
    assertThat(Files.readString(folder.resolve("errors"))).contains("a kernel may not end");
  }

  @Test
  void kernelsOutput_onADriverThatPrintsItself_comesBeforeTheFence() throws Throwable {
    startSpare("--gpus", "all", "--libcuda", TestDriver.library().toString());
    int stream = attach();
    String image = "testcuda\nkernel print 8\nkernel sleep 8\n";
    WarmUpFrames frames = new WarmUpFrames();
    frames.fenced(Ops.ctxRetainPrimary, 1, 0, 0);
    frames.posted(Ops.imageBegin, 1, image.length());
    frames.postedText(Ops.imageData, image, 1);
    frames.fenced(Ops.moduleLoad, 2, 16, 1, -1, 0, 0, 0);
    frames.postedText(Ops.moduleBindFunction, "print", 16, 20);
    frames.postedText(Ops.moduleBindFunction, "sleep", 16, 21);
    frames.launch(Ops.launch, 20, 0);
    frames.fenced(Ops.ctxSynchronize, 9);
    assertThat(exchange(stream, frames)).isEqualTo("hello from the device\n");

    for (int round = 0; round < 50; round++) {
      frames.launch(Ops.launch, 21, round % 2 * 2000L);
      frames.launch(Ops.launch, 20, 0);
      frames.fenced(Ops.streamSynchronize, 9, 0);
      assertThat(exchange(stream, frames)).isEqualTo("hello from the device\n");
    }
    Posix.close(stream);
  }

  @Test
  void kernelsOutput_whenAnEventIsReachedAlready_comesBeforeTheFence() throws Throwable {
    startSpare("--gpus", "all", "--libcuda", TestDriver.library().toString());
    int stream = attach();
    String image = "testcuda\nkernel print 8\n";
    WarmUpFrames frames = new WarmUpFrames();
    frames.fenced(Ops.ctxRetainPrimary, 1, 0, 0);
    frames.posted(Ops.imageBegin, 1, image.length());
    frames.postedText(Ops.imageData, image, 1);
    frames.fenced(Ops.moduleLoad, 2, 16, 1, -1, 0, 0, 0);
    frames.postedText(Ops.moduleBindFunction, "print", 16, 20);
    frames.posted(Ops.eventCreate, 30, 0);
    frames.launch(Ops.launch, 20, 0);
    frames.posted(Ops.eventRecord, 30, 0, 0);
    frames.fenced(Ops.memGetInfo, 9, 0, 0);
    exchange(stream, frames);
    Thread.sleep(100);
    frames.fenced(Ops.eventSynchronize, 9, 30);
    assertThat(exchange(stream, frames)).isEqualTo("hello from the device\n");
    Posix.close(stream);
  }

  @Test
  void kernelsAssert_onADriverThatPrintsItself_isForTheProgramAndNotForTheServersLog()
      throws Throwable {
    startSpare("--gpus", "all", "--libcuda", TestDriver.library().toString());
    int stream = attach();
    String image = "testcuda\nkernel assert\n";
    WarmUpFrames frames = new WarmUpFrames();
    frames.fenced(Ops.ctxRetainPrimary, 1, 0, 0);
    frames.posted(Ops.imageBegin, 1, image.length());
    frames.postedText(Ops.imageData, image, 1);
    frames.fenced(Ops.moduleLoad, 2, 16, 1, -1, 0, 0, 0);
    frames.postedText(Ops.moduleBindFunction, "assert", 16, 20);
    frames.launch(Ops.launch, 20, 0);
    frames.fenced(Ops.ctxSynchronize, 9);

    assertThat(exchange(stream, frames, 710))
        .isEqualTo("stderr: kernel.cu:7: Assertion `false` failed.\n");
    assertThat(Files.readString(folder.resolve("errors"))).doesNotContain("Assertion");
    Posix.close(stream);
  }

  @Test
  void kernelsFault_thatNoResetEnds_isAnsweredByAllCalls() throws Throwable {
    WarmUpFrames frames = new WarmUpFrames();
    int stream = startFaulty("stays", frames);
    frames.launch(Ops.launch, 20, 0);
    frames.fenced(Ops.ctxSynchronize, 9);
    exchange(stream, frames, 700);

    frames.fenced(Ops.memAlloc, 9, 4096, 1);
    exchange(stream, frames, 700);
    frames.fenced(Ops.ctxResetPrimary, 9, 0);
    exchange(stream, frames, 700);
    frames.fenced(Ops.memAlloc, 9, 4096, 1);
    exchange(stream, frames, 700);
    frames.fenced(Ops.ctxSynchronize, 9);
    exchange(stream, frames, 700);
    Posix.close(stream);
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void contextWithAFault_thatTheDriverDoesNotTakeDown_endsTheSessionWithTheReason()
      throws Throwable {
    WarmUpFrames frames = new WarmUpFrames();
    int stream = startFaulty("hangs", frames);
    frames.launch(Ops.launch, 20, 0);
    frames.fenced(Ops.ctxSynchronize, 9);
    exchange(stream, frames, 700);

    frames.fenced(Ops.ctxResetPrimary, 9, 0);
    byte[] bytes = frames.take();
    long buffer = Posix.map(4096);
    Memory.put(buffer, bytes, bytes.length);
    Posix.sendAll(stream, buffer, bytes.length, false);
    receive(stream, buffer, 16);
    assertThat(Memory.getInt(buffer + 4)).isEqualTo(FATAL);
    receive(stream, buffer + 16, Memory.getInt(buffer) - 16);
    assertThat(Memory.text(buffer + 16, 200)).contains("has not taken down a context");
    assertThat(worker.waitFor(60, TimeUnit.SECONDS)).as("the worker ends").isTrue();
    assertThat(Files.readString(folder.resolve("errors"))).contains("a kernel may not end");
    Posix.close(stream);
  }

  @Test
  void program_thatGoesWhileItsContextWaitsForAKernelWithoutEnd_takesTheWorkerWithIt()
      throws Throwable {
    WarmUpFrames frames = new WarmUpFrames();
    int stream = startFaulty("goes", frames);
    frames.launch(Ops.launch, 21, 3_600_000_000L);
    frames.fenced(Ops.ctxSynchronize, 9);
    frames.posted(Ops.ctxReleasePrimary, 0);
    byte[] bytes = frames.take();
    long buffer = Posix.map(4096);
    Memory.put(buffer, bytes, bytes.length);
    Posix.sendAll(stream, buffer, bytes.length, false);
    Thread.sleep(1000);
    Posix.close(stream);
    assertThat(worker.waitFor(60, TimeUnit.SECONDS)).as("the worker ends").isTrue();
  }

  @Test
  void assignedGpu_thatIsAnotherThanTheServerMeans_isNotUsed() throws Throwable {
    startSpare("--gpus", "all", "--libcuda", TestDriver.library().toString());
    int stream = attach("GPU-74747474-7474-7474-7474-747474747400");

    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isEqualTo(1);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains(
            "GPU 1 of the driver is 74747474-7474-7474-7474-747474747401, and the lease is of"
                + " GPU-74747474-7474-7474-7474-747474747400");
    Posix.close(stream);
  }

  @Test
  void controlConnection_closed_endsTheWorkerAtOnce() throws Throwable {
    startSpare();
    int stream = attach();

    socket().close();
    socket = null;

    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    Posix.close(stream);
  }

  @Test
  void controlConnection_closedBeforeAllWasRead_endsTheWorkerWithoutAWord() throws Throwable {
    worker = start("--control", "@" + name, "--gpus", "soft:1,mem=64Mi");
    UnixSocket unread = listener.accept();
    // The rest of the greeting stays unread, so that the worker's end is reset.
    assertThat(unread.read(ByteBuffer.allocate(1), 1)).isEqualTo(1);

    unread.close();

    assertThat(worker.waitFor()).isZero();
    assertThat(folder.resolve("errors")).isEmptyFile();
  }

  @Test
  void attach_beforeAssign_endsTheWorkerWithTheReason() throws Throwable {
    startSpare();
    control.send(TextMessage.ofType("attach").build());
    int[] pair = Posix.socketPair();
    socket().sendDescriptor(pair[1]);

    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isEqualTo(1);
    assertThat(Files.readString(folder.resolve("errors"))).contains("before any assignment");
    Posix.close(pair[0]);
    Posix.close(pair[1]);
  }

  @Test
  void probe_ofSoftwareGpus_printsALineEach() throws Exception {
    worker = start("--probe", "--gpus", "soft:2,mem=64Mi");
    List<String> lines =
        new String(worker.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines().toList();

    assertThat(worker.waitFor()).isZero();
    assertThat(lines).hasSize(2);
    assertThat(lines.get(1)).startsWith("ordinal=1 uuid=GPU-").contains(" memory=67108864 cc=9.0 ");
  }

  @Test
  void probe_withoutDriver_exitsWith3AndSaysWhy() throws Exception {
    worker = start("--probe", "--gpus", "all", "--libcuda", folder.resolve("none.so").toString());

    assertThat(worker.waitFor()).isEqualTo(3);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains("there is no NVIDIA driver: ", "none.so: cannot open shared object file");
  }

  @Test
  void probe_ofALibraryThatCannotBeLoaded_exitsWith4AndSaysWhatTheLinkerSays() throws Exception {
    Path library = Files.writeString(folder.resolve("libcuda.so.1"), "no library");
    worker = start("--probe", "--gpus", "all", "--libcuda", library.toString());

    assertThat(worker.waitFor()).isEqualTo(4);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains("library cannot be loaded: " + library + ": ", "too short");
  }

  @Test
  void probe_ofADriverThatDoesNotStart_namesTheErrorAndSaysWhatToDo() throws Exception {
    String library = TestDriver.library().toString();
    worker =
        startIn(Map.of("TESTCUDA_INIT", "803"), "--probe", "--gpus", "all", "--libcuda", library);

    assertThat(worker.waitFor()).isEqualTo(4);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains(
            "failed with CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): library and kernel module are of"
                + " different versions");
  }

  @Test
  void probe_ofADriverThatIsNotReady_exitsWith5() throws Exception {
    String library = TestDriver.library().toString();
    worker =
        startIn(Map.of("TESTCUDA_INIT", "802"), "--probe", "--gpus", "all", "--libcuda", library);

    assertThat(worker.waitFor()).isEqualTo(5);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains("failed with CUDA error 802: ", "nvidia-fabricmanager");
  }

  @Test
  void unknownOption_isNamedWithTheUsage() throws Exception {
    worker = start("--gpu", "all");

    assertThat(worker.waitFor()).isEqualTo(2);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains("unknown option --gpu; usage: WorkerMain");
  }
}
