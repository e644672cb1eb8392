// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.cuda.Ops;
import io.gpupool.worker.connection.ClearConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.session.module.ImageStore;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A session on a thread of its own, and a client of it, joined by a socket pair. */
final class TestSession implements AutoCloseable {
  static final int CONTEXT = 1;
  static final long QUOTA_BYTES = 64 << 20;
  private static final int BUFFER_BYTES = 4 << 20;
  private static final int TIMEOUT_MILLIS = 20_000;

  final Ledger ledger;
  final CompletableFuture<String> ended = new CompletableFuture<>();
  final Answer welcome;
  private final int fd;
  private final int sessionFd;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment out = arena.allocate(BUFFER_BYTES, 8);
  private final MemorySegment in = arena.allocate(BUFFER_BYTES, 8);
  private final MemorySegment pollFd = arena.allocate(8, 4);
  private int nextTag = 1;
  private Session session;

  TestSession(Backend backend) {
    this(backend, List.of(new LeasedGpu(0, QUOTA_BYTES, 100)));
  }

  TestSession(Backend backend, List<LeasedGpu> gpus) {
    this(backend, gpus, Ledger.alone(gpus.stream().mapToLong(LeasedGpu::quotaBytes).toArray()));
  }

  TestSession(Backend backend, List<LeasedGpu> gpus, Ledger ledger) {
    this(backend, gpus, ledger, PeerConnections.none());
  }

  TestSession(Backend backend, List<LeasedGpu> gpus, Ledger ledger, PeerConnections peers) {
    this(backend, gpus, ledger, OtherSessions.over(peers));
  }

  TestSession(Backend backend, List<LeasedGpu> gpus, Ledger ledger, OtherSessions others) {
    this.ledger = ledger;
    int[] pair = Posix.socketPair();
    fd = pair[0];
    sessionFd = pair[1];
    SessionPlan plan =
        new SessionPlan(
            gpus,
            ledger,
            ImageStore.NONE,
            SessionPlan.DEFAULT_SPIN_NANOS,
            null,
            others,
            ResumeWindow.NONE);
    session = new Session(backend, plan, new ClearConnection(sessionFd));
    Thread thread =
        new Thread(
            () -> {
              // Whoever awaits the end closes the descriptor; its number may be another's then.
              try {
                session.welcome();
                String why = session.run();
                Posix.shutdown(sessionFd);
                ended.complete(why);
              } catch (RuntimeException | Error e) {
                Posix.shutdown(sessionFd);
                ended.completeExceptionally(e);
              }
            },
            "session");
    thread.setDaemon(true);
    thread.start();
    welcome = read();
  }

  SessionCounters counters() {
    return session.counters();
  }

  void send(byte[] bytes) {
    for (int at = 0; at < bytes.length; at += BUFFER_BYTES) {
      int length = Math.min(BUFFER_BYTES, bytes.length - at);
      MemorySegment.copy(bytes, at, out, JAVA_BYTE, 0, length);
      Posix.sendAll(fd, out.address(), length, false);
    }
  }

  void post(int op, Object... fields) {
    send(Request.posted(op, CONTEXT, fields));
  }

  /** Sends a fenced op and returns its tag. */
  int ask(int op, Object... fields) {
    int tag = nextTag++;
    send(Request.fenced(op, CONTEXT, tag, fields));
    return tag;
  }

  /** Sends a fenced op and reads up to its reply. */
  Answer call(int op, Object... fields) {
    return reply(ask(op, fields));
  }

  /** Reads up to the reply of a tag. */
  Answer reply(int tag) {
    while (true) {
      Answer answer = read();
      if (answer.kind() == AnswerKind.REPLY && answer.tag() == tag) {
        return answer;
      }
    }
  }

  /** Reads the next frame. */
  Answer read() {
    Answer answer = readOrEnd();
    if (answer == null) {
      throw new IllegalStateException("the session ended: " + ended);
    }
    return answer;
  }

  /** Reads the next frame; returns null at the end of the stream. */
  @Nullable Answer readOrEnd() {
    if (!fill(0, 4)) {
      return null;
    }
    int length = Memory.getInt(in.address());
    if (length < 16 || length % 8 != 0 || length > FrameLimits.MAX_FRAME_BYTES) {
      throw new IllegalStateException("answer of length " + length);
    }
    if (!fill(4, length)) {
      return null;
    }
    return new Answer(
        Memory.getShort(in.address() + 4),
        Memory.getInt(in.address() + 8),
        Memory.getInt(in.address() + 12),
        Memory.bytes(in.address() + 16, length - 16));
  }

  void retainContext() {
    int result = call(Ops.ctxRetainPrimary, 0, 0).result();
    if (result != 0) {
      throw new IllegalStateException("ctxRetainPrimary: " + result);
    }
  }

  long allocate(long lengthBytes) {
    Answer answer = call(Ops.memAlloc, lengthBytes, 1);
    if (answer.result() != 0) {
      throw new IllegalStateException("memAlloc: " + answer.result());
    }
    return answer.u64(0);
  }

  /** Loads an image as module 16. */
  Answer load(String image) {
    post(Ops.imageBegin, 1, image.length());
    post(Ops.imageData, 1, image);
    return call(Ops.moduleLoad, 16, 1, new byte[0], 1024, 1024, 4096);
  }

  /** Copies device memory to the host, pageable. */
  byte[] download(long address, long lengthBytes, int stream) {
    int tag = ask(Ops.memcpyDtoH, address, lengthBytes, stream);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    while (true) {
      Answer answer = read();
      if (answer.kind() == AnswerKind.DATA && answer.tag() == tag) {
        if (answer.u64(0) != bytes.size()) {
          throw new IllegalStateException("offset " + answer.u64(0) + " at " + bytes.size());
        }
        bytes.writeBytes(answer.data());
      } else if (answer.kind() == AnswerKind.REPLY && answer.tag() == tag) {
        if (answer.result() != 0) {
          throw new IllegalStateException("memcpyDtoH: " + answer.result());
        }
        return bytes.toByteArray();
      }
    }
  }

  /** Why the session ended. */
  String reason() throws Exception {
    return ended.get(20, TimeUnit.SECONDS);
  }

  void disconnect() {
    Posix.shutdown(fd);
  }

  @Override
  public void close() {
    Posix.shutdown(fd);
    ended.handle((reason, failure) -> 0).orTimeout(20, TimeUnit.SECONDS).join();
    Posix.close(fd);
    Posix.close(sessionFd);
    arena.close();
  }

  private boolean fill(int from, int to) {
    int at = from;
    while (at < to) {
      pollFd.set(JAVA_INT, 0, fd);
      pollFd.set(JAVA_INT, 4, Posix.POLLIN);
      if (Posix.poll(pollFd.address(), 1, TIMEOUT_MILLIS) == 0) {
        throw new IllegalStateException("nothing came for 20 s");
      }
      long count = Posix.recv(fd, in.address() + at, to - at, 0);
      if (count <= 0) {
        return false;
      }
      at += (int) count;
    }
    return true;
  }
}
