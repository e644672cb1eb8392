// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.ControlOp;
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

/** Two workers, as processes, one of which has a session that is to move to the other. */
abstract class WorkerMoveFixture extends WorkerProcessFixture {
  private static final String WINDOW_MILLIS = "30000";
  private static final int MEGABYTE = 1 << 20;

  final WarmUpFrames frames = new WarmUpFrames();
  private final long buffer = Posix.map(MEGABYTE);

  /** The bytes of answers that have come, which a later connection goes on behind. */
  private long received;

  /** Another worker, with its server's end of the control connection. */
  @Nullable Process target;

  @Nullable UnixSocket targetSocket;
  private @Nullable ControlLink targetControl;
  int stream = -1;

  @SuppressWarnings("NullAway.Init") // set with the workers
  BlockingQueue<TextMessage> fromSource;

  @SuppressWarnings("NullAway.Init") // set with the workers
  BlockingQueue<TextMessage> fromTarget;

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

  /** Starts both workers, and the session in one of them. */
  void startBoth(Map<String, String> environment, long quotaBytes, String... options)
      throws Throwable {
    startSpareIn(environment, options);
    startTarget(environment, options);
    fromSource = serve(control);
    fromTarget = serve(targetControl());
    stream = attach(null, WINDOW_MILLIS, quotaBytes);
    receiveWelcome();
  }

  private void startTarget(Map<String, String> environment, String... options) throws Throwable {
    Process source = worker;
    UnixSocket sourceSocket = socket();
    ControlLink sourceControl = control;
    startWorkerIn(environment, options);
    target = worker;
    targetSocket = socket();
    targetControl = control;
    worker = source;
    socket = sourceSocket;
    control = sourceControl;
  }

  ControlLink targetControl() {
    return Objects.requireNonNull(targetControl);
  }

  /** Assigns the session to the target, on another GPU than the source's. */
  void assignTarget(long quotaBytes) throws IOException {
    assignTarget(quotaBytes, WINDOW_MILLIS);
  }

  void assignTarget(long quotaBytes, String windowMillis) throws IOException {
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

  void connectWorkers() throws IOException {
    connectWorkers("m1");
  }

  void connectWorkers(String move) throws IOException {
    int[] pair = Posix.socketPair();
    targetControl().send(TextMessage.ofType("restore").build());
    Objects.requireNonNull(targetSocket).sendDescriptor(pair[1]);
    begin(move, pair[0]);
    Posix.close(pair[1]);
  }

  /** Begins a move of the source; the other worker has the other end of the connection. */
  void begin(String move, int connection) throws IOException {
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

  static TextMessage next(BlockingQueue<TextMessage> messages, String type) throws Exception {
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

  void targetServerKnows() throws IOException {
    targetControl().send(TextMessage.ofType("restored").build());
  }

  void decide(int gone) throws IOException {
    decide("m1", gone);
  }

  void decide(String move, int gone) throws IOException {
    control.send(TextMessage.ofType("moveEnd").put("move", move).put("gone", gone).build());
  }

  /** Gives the session another connection, at either worker. */
  void resume(ControlLink link, UnixSocket server) throws IOException {
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
  byte[] call() {
    send(stream, frames);
    return receiveAnswer();
  }

  /** Sends a frame with tag 9 or 8; returns as {@link #call()}. */
  byte[] call(byte[] frame) {
    Memory.put(buffer, frame, frame.length);
    assertThat(Posix.sendAll(stream, buffer, frame.length, false)).isZero();
    return receiveAnswer();
  }

  private byte[] receiveAnswer() {
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

  static long number(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong();
  }

  private void receiveWelcome() {
    WorkerProcessFixture.receive(stream, buffer, 16);
    int welcomeBytes = Memory.getInt(buffer);
    WorkerProcessFixture.receive(stream, buffer + 16, welcomeBytes - 16);
    received = welcomeBytes;
  }
}
