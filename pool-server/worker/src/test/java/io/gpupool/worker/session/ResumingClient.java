// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.ResumeLimits;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.UnixSocket;
import io.gpupool.worker.seal.ProgramEnd;
import io.gpupool.worker.session.module.ImageStore;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A session that outlives its connection, on a thread of its own, and a client of it that goes on
 * where a connection broke.
 */
final class ResumingClient implements AutoCloseable {
  static final int CONTEXT = 1;
  private static final int BUFFER_BYTES = 2 << 20;
  private static final int HEADER_BYTES = 16;
  private static final int CONTROL_BYTES = 24;
  private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(30);

  final Session session;
  final CompletableFuture<String> ended = new CompletableFuture<>();
  final List<String> events = new CopyOnWriteArrayList<>();

  /** Answers that nobody has read. */
  final ArrayDeque<Answer> answers = new ArrayDeque<>();

  boolean acknowledges = true;

  /** The position of the answers that have come. */
  long received;

  /** The position of the requests of which the session says that they have come. */
  long acknowledged;

  private final ProgramEnd.Kind kind;
  private final int firstFd;
  private ProgramEnd end;

  /** The frames that were sent or wait to be sent, of which the first begins at a position. */
  private final ArrayDeque<byte[]> requests = new ArrayDeque<>();

  private final ArrayDeque<byte[]> unsent = new ArrayDeque<>();
  private long requestsFrom;
  private int partSent;
  private long told;
  private byte[] partial = new byte[0];
  private boolean closed;

  ResumingClient(Backend backend, long windowMillis, ProgramEnd.Kind kind) {
    List<LeasedGpu> gpus = List.of(new LeasedGpu(0, TestSession.QUOTA_BYTES, 100));
    this.kind = kind;
    end = ProgramEnd.open(kind);
    firstFd = end.worker().fd();
    ResumeWindow window =
        new ResumeWindow(
            windowMillis, cause -> events.add("disconnected"), () -> events.add("resumed"));
    SessionPlan plan =
        new SessionPlan(
            gpus,
            Ledger.alone(new long[] {TestSession.QUOTA_BYTES}),
            ImageStore.NONE,
            SessionPlan.DEFAULT_SPIN_NANOS,
            null,
            OtherSessions.none(),
            window);
    session = new Session(backend, plan, end.worker());
    Thread.ofPlatform().daemon().name("session").start(this::run);
  }

  private void run() {
    try {
      session.welcome();
      ended.complete(session.run());
    } catch (RuntimeException | Error e) {
      ended.completeExceptionally(e);
    }
  }

  void post(int op, Object... fields) {
    send(Request.posted(op, CONTEXT, fields));
  }

  void ask(int tag, int op, Object... fields) {
    send(Request.fenced(op, CONTEXT, tag, fields));
  }

  /** Puts a frame behind the others; {@link #step} sends it. */
  void send(byte[] frame) {
    requests.add(frame);
    unsent.add(frame);
  }

  /** Sends something that counts for no position. */
  void sendControl(byte[] frame) {
    unsent.add(frame);
  }

  boolean hasUnsent() {
    return !unsent.isEmpty() || !end.flush(Posix.MSG_DONTWAIT);
  }

  /** Reads up to the reply of a tag; drops what comes before. */
  Answer reply(int tag) {
    while (true) {
      Answer answer = next();
      if (answer.kind() == AnswerKind.REPLY && answer.tag() == tag) {
        return answer;
      }
    }
  }

  /** Reads the next answer. */
  Answer next() {
    long begin = System.nanoTime();
    while (answers.isEmpty()) {
      step(BUFFER_BYTES, BUFFER_BYTES);
      if (System.nanoTime() - begin > TIMEOUT_NANOS) {
        throw new IllegalStateException("nothing came for 30 s; " + ended);
      }
    }
    return answers.remove();
  }

  /** Sends and receives what can be without waiting, up to so many bytes; returns the bytes. */
  int step(int sendBytes, int receiveBytes) {
    int moved = 0;
    boolean ignored = end.flush(Posix.MSG_DONTWAIT);
    for (byte[] frame = unsent.peek(); frame != null && moved < sendBytes; frame = unsent.peek()) {
      int length = Math.min(frame.length - partSent, sendBytes - moved);
      int sent = end.send(frame, partSent, length);
      if (sent == 0) {
        break;
      }
      moved += sent;
      partSent += sent;
      if (partSent == frame.length) {
        unsent.remove();
        partSent = 0;
      }
    }
    if (receiveBytes > 0) {
      byte[] bytes = end.receive(receiveBytes, Posix.MSG_DONTWAIT);
      if (bytes.length > 0) {
        take(bytes);
        moved += bytes.length;
      }
    }
    if (moved == 0) {
      Thread.onSpinWait();
      Thread.yield();
    }
    return moved;
  }

  private void take(byte[] bytes) {
    byte[] all = new byte[partial.length + bytes.length];
    System.arraycopy(partial, 0, all, 0, partial.length);
    System.arraycopy(bytes, 0, all, partial.length, bytes.length);
    ByteBuffer words = ByteBuffer.wrap(all).order(ByteOrder.LITTLE_ENDIAN);
    int at = 0;
    while (all.length - at >= HEADER_BYTES && all.length - at >= words.getInt(at)) {
      int length = words.getInt(at);
      byte[] payload = Arrays.copyOfRange(all, at + HEADER_BYTES, at + length);
      frame(
          new Answer(words.getShort(at + 4), words.getInt(at + 8), words.getInt(at + 12), payload),
          length);
      at += length;
    }
    partial = Arrays.copyOfRange(all, at, all.length);
    if (acknowledges && received - told >= ResumeLimits.ACKNOWLEDGE_BYTES) {
      acknowledge(false);
    }
  }

  /** Acknowledges all whole frames that have come, and what the session was told before. */
  void acknowledge(boolean wanted) {
    told = Math.max(told, received);
    unsent.add(Request.acknowledge(told, wanted));
  }

  private void frame(Answer answer, int length) {
    if (answer.kind() == AnswerKind.ACK || answer.kind() == AnswerKind.RESUMED) {
      acknowledged(answer.u64(0));
      if (answer.kind() == AnswerKind.ACK && answer.tag() == 1 && acknowledges) {
        acknowledge(false);
      }
    } else {
      received += length;
      answers.add(answer);
    }
  }

  private void acknowledged(long position) {
    if (position < acknowledged) {
      throw new IllegalStateException("acknowledged " + position + " after " + acknowledged);
    }
    acknowledged = position;
    while (requestsFrom < position) {
      requestsFrom += requests.remove().length;
    }
    if (requestsFrom != position) {
      throw new IllegalStateException(position + " is not the end of a frame");
    }
  }

  /** Breaks the connection off; what is on its way is lost. */
  void cut() {
    Posix.shutdown(end.fd());
  }

  /**
   * Goes on with another connection.
   *
   * @param withPartial whether to keep the part of an answer that came with the former one, if the
   *     session was not told of it before
   */
  void resume(boolean withPartial) {
    boolean counts =
        (withPartial || received < told) && partial.length >= HEADER_BYTES && !isControl(partial);
    if (!counts) {
      partial = new byte[0];
    }
    reconnect();
    sendNow(Request.resume(received + partial.length));
    ByteBuffer first = ByteBuffer.wrap(receiveNow(CONTROL_BYTES)).order(ByteOrder.LITTLE_ENDIAN);
    if (first.getShort(4) != AnswerKind.RESUMED) {
      throw new IllegalStateException("the session did not resume: " + ended);
    }
    acknowledged(first.getLong(HEADER_BYTES));
    unsent.clear();
    unsent.addAll(requests);
    partSent = 0;
    told = received + partial.length;
  }

  private void reconnect() {
    end.close();
    end = ProgramEnd.open(kind);
    session.resume(end.worker());
  }

  private static boolean isControl(byte[] frame) {
    return frame[4] == AnswerKind.ACK || frame[4] == AnswerKind.RESUMED;
  }

  /** Opens another connection, which breaks within its first frame. */
  void resumeHalf() {
    reconnect();
    sendNow(Arrays.copyOf(Request.resume(received), 9));
  }

  /** Opens another connection that begins with these bytes; returns what comes of it. */
  @Nullable Answer resumeWith(byte[] bytes) {
    reconnect();
    sendNow(bytes);
    partial = new byte[0];
    long begin = System.nanoTime();
    while (answers.isEmpty() && !ended.isDone() && System.nanoTime() - begin < TIMEOUT_NANOS) {
      step(0, BUFFER_BYTES);
    }
    step(0, BUFFER_BYTES);
    return answers.poll();
  }

  private void sendNow(byte[] bytes) {
    end.sendAll(bytes, bytes.length);
  }

  private byte[] receiveNow(int length) {
    byte[] all = new byte[length];
    for (int at = 0; at < length; ) {
      byte[] bytes = end.receive(length - at, 0);
      if (bytes.length == 0) {
        throw new IllegalStateException("the connection ended: " + ended);
      }
      System.arraycopy(bytes, 0, all, at, bytes.length);
      at += bytes.length;
    }
    return all;
  }

  /** Waits for the end of a connection, whatever comes before it. */
  void awaitEnd(int connection) {
    long memory = Posix.map(BUFFER_BYTES);
    while (Posix.recv(connection, memory, BUFFER_BYTES, 0) > 0) {
      // answers that nobody wants
    }
    Posix.unmap(memory, BUFFER_BYTES);
  }

  /** Sends a descriptor beside the present connection. */
  void sendDescriptor(int descriptor) throws IOException {
    UnixSocket.sendDescriptor(end.fd(), descriptor);
  }

  /** Returns another descriptor of the present connection, which stays open with it. */
  int keepOpen() {
    return Posix.dup(end.fd());
  }

  /** Waits until the session has told that it was resumed; returns all that it has told. */
  List<String> eventsUpToResumed() {
    long begin = System.nanoTime();
    while (!events.contains("resumed") && System.nanoTime() - begin < TIMEOUT_NANOS) {
      Thread.onSpinWait();
    }
    return events;
  }

  /** Why the session ended. */
  String reason() throws Exception {
    return ended.get(30, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      if (!ended.isDone()) {
        cut();
        // No connection begins like this.
        Answer ignored = resumeWith(new byte[HEADER_BYTES]);
        ended.handle((reason, failure) -> 0).orTimeout(20, TimeUnit.SECONDS).join();
      }
      end.close();
      Posix.close(firstFd);
    }
  }
}
