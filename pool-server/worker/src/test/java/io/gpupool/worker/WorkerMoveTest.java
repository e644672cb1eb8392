// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.Ops;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.control.ControlLink;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.os.TestFiles;
import io.gpupool.worker.os.UnixSocket;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.warmup.WarmUpFrames;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Sessions that move from one worker to another, of two processes. */
class WorkerMoveTest extends WorkerProcessFixture {
  private static final String WINDOW_MILLIS = "30000";
  private static final int MODULE = 16;
  private static final int STORE = 17;
  private static final int STREAM = 18;
  private static final int START = 19;
  private static final int END = 20;
  private static final int MEGABYTE = 1 << 20;

  /** Adds one to a counter of the module's, and stores the sum. */
  private static final String PTX =
      """
      .version 7.0
      .target sm_75
      .address_size 64
      .global .align 4 .u32 counter = 41;
      .visible .entry store(.param .u64 p) {
        .reg .b32 %r<4>;
        .reg .b64 %rd<5>;
        ld.param.u64 %rd1, [p];
        cvta.to.global.u64 %rd2, %rd1;
        ld.global.u32 %r1, [counter];
        add.u32 %r1, %r1, 1;
        st.global.u32 [counter], %r1;
        st.global.u32 [%rd2], %r1;
        ret;
      }
      """;

  private final WarmUpFrames frames = new WarmUpFrames();
  private final long buffer = Posix.map(MEGABYTE);

  /** The bytes of answers that have come, which a later connection goes on behind. */
  private long received;

  /** Another worker, with its server's end of the control connection. */
  private @Nullable Process target;

  private @Nullable UnixSocket targetSocket;
  private @Nullable ControlLink targetControl;
  private int stream = -1;

  @SuppressWarnings("NullAway.Init") // set with the workers
  private BlockingQueue<TextMessage> fromSource;

  @SuppressWarnings("NullAway.Init") // set with the workers
  private BlockingQueue<TextMessage> fromTarget;

  @AfterEach
  void stopTarget() throws Exception {
    Posix.unmap(buffer, MEGABYTE);
    if (stream >= 0) {
      Posix.close(stream);
    }
    if (targetSocket != null) {
      targetSocket.close();
    }
    if (target != null) {
      target.destroyForcibly().waitFor();
    }
  }

  private void startTarget() throws Throwable {
    Process source = worker;
    UnixSocket sourceSocket = socket();
    ControlLink sourceControl = control;
    startWorkerIn(Map.of(), "--gpus", "soft:2,mem=64Mi");
    target = worker;
    targetSocket = socket();
    targetControl = control;
    worker = source;
    socket = sourceSocket;
    control = sourceControl;
  }

  private ControlLink targetControl() {
    return Objects.requireNonNull(targetControl);
  }

  /** Assigns the session to the target, on another GPU than the source's. */
  private void assignTarget(int quotaBytes) throws IOException {
    assignTarget(quotaBytes, WINDOW_MILLIS);
  }

  private void assignTarget(int quotaBytes, String windowMillis) throws IOException {
    Path ledger = folder.resolve("ledger2");
    Files.write(ledger, new byte[(int) Ledger.sizeBytes(1)]);
    targetControl()
        .send(
            TextMessage.ofType("assign")
                .put("session", "s1")
                .put("lease", "l1")
                .put("slot", 3)
                .put("gpus", "0:" + quotaBytes + ":50")
                .put("resumeWindow", windowMillis)
                .build());
    try (ServerFile handed = TestFiles.open(ledger)) {
      Objects.requireNonNull(targetSocket).sendDescriptor(handed.descriptor());
    }
  }

  private void connectWorkers() throws IOException {
    connectWorkers("m1");
  }

  private void connectWorkers(String move) throws IOException {
    int[] pair = Posix.socketPair();
    targetControl().send(TextMessage.ofType("restore").build());
    Objects.requireNonNull(targetSocket).sendDescriptor(pair[1]);
    begin(move, pair[0]);
    Posix.close(pair[1]);
  }

  /** Begins a move of the source; the other worker has the other end of the connection. */
  private void begin(String move, int connection) throws IOException {
    control.send(TextMessage.ofType("move").put("move", move).build());
    socket().sendDescriptor(connection);
    Posix.close(connection);
  }

  /** Plays the server of a worker, which has nothing in its cache. */
  private static BlockingQueue<TextMessage> serve(ControlLink link) {
    BlockingQueue<TextMessage> messages = new LinkedBlockingQueue<>();
    Thread.ofPlatform()
        .daemon()
        .start(() -> {
          try {
            for (Optional<TextMessage> message = link.receive();
                message.isPresent();
                message = link.receive()) {
              if (message.get().type().equals("cache")) {
                String request = message.get().require("request");
                link.send(TextMessage.ofType("cached").put("request", request).build());
              } else if (!message.get().type().equals("stats")) {
                messages.add(message.get());
              }
            }
          } catch (IOException | WireException e) {
            // The worker has ended.
          }
        });
    return messages;
  }

  private static TextMessage next(BlockingQueue<TextMessage> messages, String type)
      throws Exception {
    TextMessage message = messages.poll(30, TimeUnit.SECONDS);
    while (message != null
        && message.type().equals("disconnected")
        && !type.equals(message.type())) {
      message = messages.poll(30, TimeUnit.SECONDS);
    }
    assertThat(message).as(type).isNotNull();
    assertThat(message.type()).as(message.toString()).isEqualTo(type);
    return message;
  }

  private void targetServerKnows() throws IOException {
    targetControl().send(TextMessage.ofType("restored").put("recorded", 1).build());
  }

  private void decide(int gone) throws IOException {
    decide("m1", gone);
  }

  private void decide(String move, int gone) throws IOException {
    control.send(TextMessage.ofType("moveEnd").put("move", move).put("gone", gone).build());
  }

  /** Gives the session another connection, at either worker. */
  private void resume(ControlLink link, UnixSocket server) throws IOException {
    int[] pair = Posix.socketPair();
    link.send(TextMessage.ofType("attach").build());
    server.sendDescriptor(pair[1]);
    Posix.close(pair[1]);
    Posix.close(stream);
    stream = pair[0];
    frames.posted(ControlOp.RESUME, received);
    send(stream, frames);
    WorkerProcessFixture.receive(stream, buffer, 24);
    assertThat(Memory.getInt(buffer + 4)).isEqualTo(AnswerKind.RESUMED);
  }

  /**
   * Sends frames, and returns the payload of the answer to tag 9, or the bytes of a copy with
   * another tag, whose answer follows.
   */
  private byte[] call() {
    send(stream, frames);
    byte @Nullable [] copied = null;
    while (true) {
      WorkerProcessFixture.receive(stream, buffer, 16);
      int length = Memory.getInt(buffer);
      int kind = Memory.getInt(buffer + 4);
      int tag = Memory.getInt(buffer + 8);
      int result = Memory.getInt(buffer + 12);
      WorkerProcessFixture.receive(stream, buffer + 16, length - 16);
      // An acknowledgement counts for no position.
      received += kind == AnswerKind.ACK ? 0 : length;
      if (kind == AnswerKind.DATA) {
        copied = Memory.bytes(buffer + 24, result);
      }
      if (kind == AnswerKind.REPLY) {
        assertThat(result).as("tag %d", tag).isZero();
        if (tag == 9 || copied != null) {
          return copied != null ? copied : Memory.bytes(buffer + 16, length - 16);
        }
      }
    }
  }

  private static long number(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong();
  }

  /** Starts a session with a program that has something of all kinds; returns its memory. */
  private long startProgram() throws Throwable {
    startSpare("--gpus", "soft:2,mem=64Mi");
    startTarget();
    fromSource = serve(control);
    fromTarget = serve(targetControl());
    stream = attach(null, WINDOW_MILLIS);
    receiveWelcome();
    frames.fenced(Ops.ctxRetainPrimary, 9, 0, 0);
    call();
    frames.posted(Ops.imageBegin, 1, PTX.length() + 1);
    frames.postedText(Ops.imageData, PTX + "\0", 1);
    frames.fenced(Ops.moduleLoad, 1, MODULE, 1, -1, 0, 0, 0);
    frames.posted(Ops.imageDrop, 1);
    frames.postedText(Ops.moduleBindFunction, "store", MODULE, STORE);
    frames.posted(Ops.streamCreate, STREAM, 0, 0);
    frames.posted(Ops.eventCreate, START, 0);
    frames.posted(Ops.eventCreate, END, 0);
    frames.posted(Ops.eventRecord, START, STREAM, 0);
    frames.fenced(Ops.memAlloc, 9, 300_000, 1);
    final long gone = number(call());
    frames.fenced(Ops.memAlloc, 9, 100_000, 1);
    long kept = number(call());
    frames.posted(Ops.memFree, gone);
    frames.launch(Ops.launch, STORE, kept);
    frames.postedText(Ops.memcpyHtoD, "the middle", kept + 70_000, 0);
    frames.posted(Ops.eventRecord, END, STREAM, 0);
    frames.fenced(Ops.ctxSynchronize, 9);
    call();
    return kept;
  }

  private void receiveWelcome() {
    WorkerProcessFixture.receive(stream, buffer, 16);
    int welcomeBytes = Memory.getInt(buffer);
    WorkerProcessFixture.receive(stream, buffer + 16, welcomeBytes - 16);
    received = welcomeBytes;
  }

  private byte[] elapsed() {
    frames.fenced(Ops.cuEventElapsedTime_v2, 9, 1, START, END);
    return call();
  }

  private void requireSameMemory(long kept) {
    frames.fenced(Ops.memcpyDtoH, 8, kept + 70_000, 10, 0);
    assertThat(new String(call(), StandardCharsets.UTF_8)).isEqualTo("the middle");
    frames.launch(Ops.launch, STORE, kept);
    frames.fenced(Ops.memcpyDtoH, 8, kept, 8, 0);
    assertThat((int) number(call())).isEqualTo(43);
  }

  @Test
  void session_thatMoves_hasTheSameMemoryModulesAndEventsUnderTheSameNumbers() throws Throwable {
    final long kept = startProgram();
    final byte[] elapsed = elapsed();
    assignTarget(16 << 20);
    connectWorkers();
    assertThat(next(fromTarget, "restored").get("session")).contains("s1");
    targetServerKnows();
    TextMessage moved = next(fromSource, "moved");
    assertThat(moved.get("move")).contains("m1");
    assertThat(Long.parseLong(moved.require("bytes"))).isGreaterThan(100_000);
    decide(1);
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isZero();

    resume(targetControl(), Objects.requireNonNull(targetSocket));
    assertThat(elapsed()).isEqualTo(elapsed);
    requireSameMemory(kept);
  }

  @Test
  void session_whoseRestorationTakesLongerThanItsWindow_hasAllOfTheWindowAfterwards()
      throws Throwable {
    final long kept = startProgram();
    assignTarget(16 << 20, "3000");
    connectWorkers();
    next(fromTarget, "restored");
    Thread.sleep(3500);
    targetServerKnows();
    next(fromSource, "moved");
    decide(1);
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    targetServerKnows();

    resume(targetControl(), Objects.requireNonNull(targetSocket));
    requireSameMemory(kept);
  }

  @Test
  void session_thatStays_goesOnWhereItWas() throws Throwable {
    final long kept = startProgram();
    assignTarget(16 << 20);
    connectWorkers();
    next(fromTarget, "restored");
    targetServerKnows();
    next(fromSource, "moved");
    decide(0);

    resume(control, socket());
    requireSameMemory(kept);
  }

  @Test
  void session_thatHasNoRoomAtTheTarget_goesOnWhereItWas() throws Throwable {
    final long kept = startProgram();
    assignTarget(1000);
    connectWorkers();
    assertThat(next(fromSource, "moveFailed").get("reason"))
        .contains("memAlloc cannot be made again: CUDA error 2");
    assertThat(next(fromTarget, "ended").require("reason")).contains("memAlloc");

    resume(control, socket());
    requireSameMemory(kept);
  }

  @Test
  void session_whoseTargetDies_goesOnWhereItWas() throws Throwable {
    final long kept = startProgram();
    assignTarget(16 << 20);
    Objects.requireNonNull(target).destroyForcibly().waitFor();
    int[] pair = Posix.socketPair();
    begin("m1", pair[0]);
    Posix.close(pair[1]);
    assertThat(next(fromSource, "moveFailed").require("reason")).contains("connection");

    requireSameMemory(kept);
  }

  /** A lease does not move to where the next process of the server would not find its session. */
  @Test
  void session_whoseTargetsServerDiesBeforeItKnows_goesOnWhereItWas() throws Throwable {
    final long kept = startProgram();
    assignTarget(16 << 20);
    connectWorkers();
    next(fromTarget, "restored");
    Objects.requireNonNull(targetSocket).close();
    assertThat(next(fromSource, "moveFailed").require("reason")).contains("closed the connection");
    assertThat(Objects.requireNonNull(target).waitFor(20, TimeUnit.SECONDS)).isTrue();

    resume(control, socket());
    requireSameMemory(kept);
  }

  /** The end of a move that was given up comes when the next one has begun. */
  @Test
  void session_whoseFormerMoveEndsLate_leavesWithTheNextOne() throws Throwable {
    final long kept = startProgram();
    assignTarget(16 << 20);
    for (int i = 0; i < 20; i++) {
      int[] pair = Posix.socketPair();
      begin("given up " + i, pair[0]);
      decide("given up " + i, 0);
      Posix.close(pair[1]);
    }
    connectWorkers("m2");
    next(fromTarget, "restored");
    targetServerKnows();
    TextMessage said = fromSource.poll(30, TimeUnit.SECONDS);
    while (said != null && !said.type().equals("moved")) {
      said = fromSource.poll(30, TimeUnit.SECONDS);
    }
    assertThat(Objects.requireNonNull(said).get("move")).contains("m2");
    decide("m2", 1);
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();

    resume(targetControl(), Objects.requireNonNull(targetSocket));
    requireSameMemory(kept);
  }

  @Test
  void session_withLinkedCodeUnderWay_isRefusedWithTheReason() throws Throwable {
    final long kept = startProgram();
    frames.fenced(Ops.linkCreate, 9, 1, -1, 0, 0);
    call();
    assignTarget(16 << 20);
    connectWorkers();
    assertThat(next(fromSource, "moveFailed").get("reason"))
        .contains("it has code that is being linked, which cannot move");

    resume(control, socket());
    requireSameMemory(kept);
  }
}
