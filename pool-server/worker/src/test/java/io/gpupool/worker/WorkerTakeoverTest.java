// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.Ops;
import io.gpupool.wire.TextMessage;
import io.gpupool.worker.control.ControlLink;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.UnixSocket;
import io.gpupool.worker.warmup.WarmUpFrames;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Sessions of the worker as a process that outlive the pool-server's process. */
class WorkerTakeoverTest extends WorkerProcessFixture {
  private static final String WINDOW_MILLIS = "30000";

  private final WarmUpFrames frames = new WarmUpFrames();

  /** The server's ends of its sockets for descriptors. */
  private final List<Integer> inboxes = new ArrayList<>();

  private TextMessage lastHello = TextMessage.ofType("none").build();

  @AfterEach
  void closeInboxes() {
    inboxes.forEach(Posix::close);
  }

  private String path() {
    return folder.resolve("worker.sock").toString();
  }

  /** Starts a worker with a session, and calls it. */
  private int startSession(String windowMillis) throws Throwable {
    startSpare("--gpus", "soft:2,mem=64Mi", "--listen", path());
    int stream = attach(null, windowMillis);
    frames.fenced(Ops.ctxRetainPrimary, 9, 0, 0);
    exchange(stream, frames);
    return stream;
  }

  private void allocate(int stream) {
    frames.fenced(Ops.memAlloc, 9, 5000, 1);
    exchange(stream, frames);
  }

  private void leaveWorker() {
    socket().close();
    socket = null;
  }

  /** The next process of the server, which is the control connection from now on. */
  private void claim() throws Exception {
    UnixSocket server = claim(TOKEN);
    socket = server;
    control = new ControlLink(server);
  }

  private UnixSocket claim(String token) throws Exception {
    UnixSocket server = UnixSocket.connect(path());
    TextMessage claim =
        TextMessage.ofType("claim").put("protocol", 1).put("token", token).put("inbox", 1).build();
    server.write(claim.encode());
    int[] inbox = Posix.socketPair();
    server.sendDescriptor(inbox[1]);
    Posix.close(inbox[1]);
    inboxes.add(inbox[0]);
    return server;
  }

  private TextMessage next(String type) throws Exception {
    TextMessage message = control.receive().orElseThrow();
    assertThat(message.type()).isEqualTo(type);
    return message;
  }

  private TextMessage claimed() throws Exception {
    TextMessage hello = next("hello");
    assertThat(hello.get("pid")).contains(Long.toString(worker.pid()));
    assertThat(hello.get("token")).contains(TOKEN);
    assertThat(hello.get("protocol")).contains("1");
    assertThat(hello.get("session")).contains("s1");
    next("claimed");
    return hello;
  }

  private void assertThatItEnds() throws Exception {
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isZero();
  }

  @Test
  void session_whoseServerHasGone_goesOnAndIsTakenOverByTheNext() throws Throwable {
    int stream = startSession(WINDOW_MILLIS);
    leaveWorker();
    allocate(stream);

    claim();
    assertThat(claimed().get("state")).contains("attached");
    TextMessage stats = next("stats");
    assertThat(stats.get("calls")).contains("2");
    assertThat(stats.get("memory")).contains("5120");

    // The new server connects the program again when its stream breaks.
    Posix.close(stream);
    assertThat(nextButStats().type()).isEqualTo("disconnected");
    int later = connect();
    frames.posted(ControlOp.RESUME, 0);
    exchange(later, frames);
    frames.fenced(Ops.memAlloc, 9, 5000, 1);
    exchange(later, frames);
    assertThat(nextButStats().type()).isEqualTo("resumed");

    frames.posted(Ops.goodbye);
    send(later, frames);
    assertThat(nextButStats().get("reason")).contains("goodbye");
    assertThatItEnds();
    assertThat(Files.readString(folder.resolve("errors")))
        .contains("lease l1 session s1: the server has gone; the program goes on");
    Posix.close(later);
  }

  @Test
  void session_thatLostItsProgramMeanwhile_saysSoToTheNextServer() throws Throwable {
    int stream = startSession(WINDOW_MILLIS);
    leaveWorker();
    Posix.close(stream);
    awaitState("disconnected");

    assertThat(Long.parseLong(lastHello.get("gone").orElseThrow())).isBetween(0L, 30_000L);
    assertThat(lastHello.get("reason")).contains("its peer closed it");
  }

  /** Claims the worker until its session is in a state. */
  private void awaitState(String state) throws Exception {
    do {
      if (socket != null) {
        leaveWorker();
      }
      claim();
      lastHello = claimed();
    } while (!lastHello.require("state").equals(state));
  }

  @Test
  void claim_beforeTheFormerServerHasGone_cutsItOff() throws Throwable {
    int stream = startSession(WINDOW_MILLIS);
    UnixSocket formerSocket = socket();
    ControlLink former = control;
    claim();
    claimed();
    while (former.receive().isPresent()) {
      // what it was told before
    }
    formerSocket.close();
    allocate(stream);

    UnixSocket secondSocket = socket();
    ControlLink second = control;
    claim();
    claimed();
    while (second.receive().isPresent()) {
      // likewise
    }
    secondSocket.close();
    allocate(stream);
    Posix.close(stream);
    assertThat(nextButStats().type()).isEqualTo("disconnected");
  }

  @Test
  void garbage_onTheSocketAndFromAServer_leavesTheSessionToTheNextOne() throws Throwable {
    int stream = startSession(WINDOW_MILLIS);
    try (UnixSocket stranger = claim("a guess")) {
      TextMessage refused = new ControlLink(stranger).receive().orElseThrow();
      assertThat(refused.type()).isEqualTo("refused");
    }
    allocate(stream);
    // The server that it has is still there, and breaks.
    socket().write(new byte[64]);
    while (control.receive().isPresent()) {
      // what it was told before
    }
    socket().close();

    claim();
    claimed();
    allocate(stream);
    Posix.close(stream);
  }

  @Test
  void session_thatNobodyTakesOverWithinItsWindow_endsWithItsProcess() throws Throwable {
    int stream = startSession("1000");
    leaveWorker();

    assertThatItEnds();
    assertThat(Files.readString(folder.resolve("errors")))
        .contains("no server has taken it over in time");
    Posix.close(stream);
  }

  @Test
  void session_withoutAWindow_endsWithItsServer() throws Throwable {
    int stream = startSession("0");
    leaveWorker();

    assertThatItEnds();
    assertThat(folder.resolve("errors")).isEmptyFile();
    Posix.close(stream);
  }

  @Test
  void spare_endsWithItsServer() throws Throwable {
    startSpare("--gpus", "soft:2,mem=64Mi", "--listen", path());
    leaveWorker();
    assertThatItEnds();
  }

  @Test
  void confinedWorker_isTakenOver() throws Throwable {
    Map<String, String> plan =
        Map.of(
            "GPUPOOL_SANDBOX",
            String.join(
                "\n",
                "control @" + name,
                "listen " + path(),
                "exec /",
                "network own",
                "filter soft"));
    launcher = List.of(TestProgram.sandbox());
    startSpareIn(plan, "--gpus", "soft:2,mem=64Mi");
    int stream = attach(null, WINDOW_MILLIS);
    frames.fenced(Ops.ctxRetainPrimary, 9, 0, 0);
    exchange(stream, frames);
    leaveWorker();
    allocate(stream);

    claim();
    claimed();
    Posix.close(stream);
    assertThat(nextButStats().type()).isEqualTo("disconnected");
    int later = connect();
    frames.posted(ControlOp.RESUME, 0);
    exchange(later, frames);
    Posix.close(later);
  }

  /** A worker whose parent is a shell, which the test can end. */
  private ProcessHandle startTied() throws Throwable {
    launcher = List.of("sh", "-c", "\"$@\" & wait", "parent", TestProgram.exec(), "--bind", "--");
    long pid =
        startWorkerIn(
            Map.of("GPUPOOL_BIND", "self"), "--gpus", "soft:2,mem=64Mi", "--listen", path());
    ProcessHandle tied = ProcessHandle.of(pid).orElseThrow();
    assertThat(tied.parent().orElseThrow().pid()).isEqualTo(worker.pid());
    return tied;
  }

  @Test
  void spareOfALauncher_endsWithItsParent() throws Throwable {
    ProcessHandle tied = startTied();
    worker.destroyForcibly();
    assertThat(tied.onExit().get(20, TimeUnit.SECONDS)).isEqualTo(tied);
  }

  @Test
  void sessionOfALauncher_outlivesItsParent() throws Throwable {
    ProcessHandle tied = startTied();
    try {
      int stream = attach(null, WINDOW_MILLIS);
      frames.fenced(Ops.ctxRetainPrimary, 9, 0, 0);
      exchange(stream, frames);
      worker.destroyForcibly().waitFor();
      leaveWorker();
      allocate(stream);

      claim();
      assertThat(next("hello").get("pid")).contains(Long.toString(tied.pid()));
      Posix.close(stream);
    } finally {
      tied.destroyForcibly();
    }
  }
}
