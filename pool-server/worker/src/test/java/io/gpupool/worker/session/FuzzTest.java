// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Ops;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.seal.ProgramEnd;
import io.gpupool.worker.session.exchange.Exchange;
import io.gpupool.worker.session.module.ImageStore;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.soft.SoftBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Hostile call streams, several 10^5 frames in all: a session answers or ends, and never fails,
 * hangs or takes more memory than its bounds say. What went in can be made again from the seed.
 * {@code -Dgpupool.fuzz.sessions=N} has so many sessions of the longest kind, and more of others.
 */
@Timeout(300)
class FuzzTest {
  private static final int SESSIONS = Integer.getInteger("gpupool.fuzz.sessions", 24);
  private static final int RESUMABLE_SESSIONS = SESSIONS / 2;
  private static final int LATER_SESSIONS = 5 * SESSIONS / 2;
  private static final int RANDOM_SESSIONS = 5 * SESSIONS;
  private static final int LATER_CONNECTIONS = 6;
  private static final int FRAMES_A_SESSION = 26_000;
  private static final long MAX_GROWTH_BYTES = 1L << 30;
  private static final long SEED = 0x5eed;

  private record Outcome(String reason, long calls, long receivedBytes) {}

  @Test
  void hostileFrames_anyOfThem_neitherFailNorHangASession() throws IOException {
    long frames = 0;
    long before = residentBytes();
    for (int i = 0; i < SESSIONS; i++) {
      // Every third stream is broken off or goes wrong soon, as random bytes do.
      FrameGenerator generator = new FrameGenerator(new SplittableRandom(SEED + i));
      Outcome outcome = run(generator, i % 3 == 2 ? 0 : FRAMES_A_SESSION);
      assertThat(outcome.reason).as("session %d", i).doesNotContain("internal");
      frames += outcome.calls;
    }
    assertThat(frames).isGreaterThan(SESSIONS * FRAMES_A_SESSION * 5L / 8);
    assertThat(residentBytes() - before).isLessThan(MAX_GROWTH_BYTES);
  }

  @ParameterizedTest
  @EnumSource
  void hostileFrames_ofSessionsThatOutliveTheirConnection_neitherFailNorHangThem(
      ProgramEnd.Kind kind) {
    for (int i = 0; i < RESUMABLE_SESSIONS; i++) {
      FrameGenerator generator = new FrameGenerator(new SplittableRandom(SEED + i));
      try (SoftBackend backend = backend()) {
        Outcome outcome = drive(backend, generator, i % 3 == 2 ? 0 : 4000, window(), kind);
        assertThat(outcome.reason).as("session %d", i).doesNotContain("internal");
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void laterConnections_thatBeginWithAnything_resumeTheSessionOrEndIt(ProgramEnd.Kind kind) {
    AtomicInteger resumed = new AtomicInteger();
    AtomicInteger ended = new AtomicInteger();
    ResumeWindow window = new ResumeWindow(500, cause -> {}, resumed::incrementAndGet);
    for (int i = 0; i < LATER_SESSIONS; i++) {
      SplittableRandom random = new SplittableRandom(SEED + i);
      FrameGenerator generator = new FrameGenerator(random);
      try (SoftBackend backend = backend();
          Pipe pipe = new Pipe(backend, window, kind)) {
        for (int later = 0; later < LATER_CONNECTIONS; later++) {
          pipe.send(generator, random.nextInt(30));
          pipe.reconnect();
          byte[] greeting = greeting(random, generator);
          pipe.send(greeting, greeting.length);
        }
        byte[] goodbye = Request.posted(Ops.goodbye, 0);
        pipe.send(goodbye, goodbye.length);
        pipe.disconnect();
        String reason = pipe.reason();
        assertThat(reason).as("session %d", i).doesNotContain("internal");
        ended.addAndGet(reason.matches("malformed frame.*|.* cannot be resumed .*") ? 1 : 0);
      }
    }
    assertThat(resumed).as("resumptions").hasValueGreaterThan(LATER_SESSIONS);
    assertThat(ended).as("sessions that ended for it").hasValueGreaterThan(LATER_SESSIONS / 4);
  }

  /** The first bytes of a later connection: more often than not, those that resume. */
  private static byte[] greeting(SplittableRandom random, FrameGenerator generator) {
    return switch (random.nextInt(16)) {
      case 0 -> generator.wellFormed();
      case 1 -> generator.malformed();
      case 2 -> Arrays.copyOf(Request.resume(0), random.nextInt(16));
      case 3 -> Request.resume(8L * random.nextInt(200));
      case 4 -> Request.acknowledge(0, true);
      case 5 -> Request.all(Request.resume(0), Request.resume(0));
      default -> Request.all(Request.resume(0), Request.acknowledge(0, random.nextBoolean()));
    };
  }

  /** Over as soon as the connection is gone. */
  private static ResumeWindow window() {
    return new ResumeWindow(1, cause -> {}, () -> {});
  }

  @ParameterizedTest
  @EnumSource
  void randomBytes_manyShortStreams_endEachTheirSession(ProgramEnd.Kind kind) {
    SplittableRandom random = new SplittableRandom(SEED);
    for (int i = 0; i < RANDOM_SESSIONS; i++) {
      byte[] bytes = new byte[random.nextInt(1, 4096)];
      random.nextBytes(bytes);
      String reason = run(bytes, ResumeWindow.NONE, kind);
      assertThat(reason).as("stream %d", i).matches("malformed frame.*|connection .*|goodbye");
      assertThat(run(bytes, window(), kind))
          .as("stream %d", i)
          .matches("malformed frame.*|its .*|goodbye");
    }
  }

  @Test
  void randomBytes_thatAreNoRecords_endEachTheirSession() {
    SplittableRandom random = new SplittableRandom(SEED);
    for (int i = 0; i < RANDOM_SESSIONS; i++) {
      byte[] bytes = new byte[random.nextInt(5, 4096)];
      random.nextBytes(bytes);
      try (SoftBackend backend = backend();
          Pipe pipe =
              new Pipe(
                  backend, i % 2 == 0 ? ResumeWindow.NONE : window(), ProgramEnd.Kind.SEALED)) {
        pipe.end().sendRaw(bytes);
        pipe.disconnect();
        assertThat(pipe.reason())
            .as("stream %d", i)
            .isEqualTo(ProgramConnection.violation(-Posix.EBADMSG));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, 1L << 22, 1L << 40, Long.MIN_VALUE})
  void position_thatCannotBe_endsTheSession(long head) {
    try (SoftBackend backend = backend();
        Pipe pipe = new Pipe(backend, window(), ProgramEnd.Kind.SHARED)) {
      pipe.end().claimToHavePut(head);
      pipe.disconnect();
      assertThat(pipe.reason()).isEqualTo(ProgramConnection.violation(-Posix.EPROTO));
    }
  }

  private static Outcome run(FrameGenerator generator, int frames) {
    try (SoftBackend backend = backend()) {
      return drive(backend, generator, frames, ResumeWindow.NONE, ProgramEnd.Kind.CLEAR);
    }
  }

  private static String run(byte[] bytes, ResumeWindow window, ProgramEnd.Kind kind) {
    try (SoftBackend backend = backend();
        Pipe pipe = new Pipe(backend, window, kind)) {
      pipe.send(bytes, bytes.length);
      pipe.disconnect();
      return pipe.reason();
    }
  }

  private static SoftBackend backend() {
    return new SoftBackend(new DeviceSpec(2, 64L << 20, 90), MissingPtx.SKIP);
  }

  private static Outcome drive(
      SoftBackend backend,
      FrameGenerator generator,
      int frames,
      ResumeWindow window,
      ProgramEnd.Kind kind) {
    try (Pipe pipe = new Pipe(backend, window, kind)) {
      byte[] batch = new byte[256 << 10];
      int filled = 0;
      for (int i = 0; i < frames; i++) {
        byte[] frame = generator.wellFormed();
        if (filled + frame.length > batch.length) {
          pipe.send(batch, filled);
          filled = 0;
        }
        System.arraycopy(frame, 0, batch, filled, frame.length);
        filled += frame.length;
      }
      pipe.send(batch, filled);
      byte[] last = generator.malformed();
      pipe.send(last, last.length);
      pipe.disconnect();
      String reason = pipe.reason();
      SessionCounters counters = pipe.session.counters();
      return new Outcome(reason, counters.calls(), counters.client().bytesIn());
    }
  }

  private static long residentBytes() throws IOException {
    String status = Files.readString(Path.of("/proc/self/status"));
    return status
            .lines()
            .filter(line -> line.startsWith("VmRSS"))
            .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
            .findFirst()
            .orElseThrow()
        << 10;
  }

  /** A session, a thread that drops its answers, and the sending end. */
  private static final class Pipe implements AutoCloseable {
    final Session session;
    private final ProgramEnd.Kind kind;
    private final List<ProgramEnd> ends = new ArrayList<>();
    private final int firstFd;
    private final Thread runner;
    private final List<Thread> drains = new ArrayList<>();
    private final AtomicReference<Object> outcome = new AtomicReference<>();

    Pipe(SoftBackend backend, ResumeWindow window, ProgramEnd.Kind kind) {
      this.kind = kind;
      ProgramEnd first = open();
      firstFd = first.worker().fd();
      List<LeasedGpu> gpus =
          List.of(new LeasedGpu(0, 32L << 20, 50), new LeasedGpu(1, 32L << 20, 50));
      Ledger ledger = Ledger.alone(new long[] {32L << 20, 32L << 20});
      OtherSessions others =
          new OtherSessions(Exchange.NONE, PeerConnections.none(), new TestRankDirectory());
      session =
          new Session(
              backend,
              new SessionPlan(gpus, ledger, ImageStore.NONE, 0, null, others, window),
              first.worker());
      runner = Thread.ofPlatform().daemon().start(this::runSession);
      drain(first);
    }

    private ProgramEnd open() {
      ends.add(ProgramEnd.open(kind));
      return end();
    }

    /** The present one. */
    ProgramEnd end() {
      return ends.getLast();
    }

    private void drain(ProgramEnd from) {
      drains.add(Thread.ofPlatform().daemon().start(() -> dropAnswers(from)));
    }

    /** Breaks the connection and opens another, which the session has from now on. */
    void reconnect() {
      Posix.shutdown(end().fd());
      ProgramEnd later = open();
      session.resume(later.worker());
      drain(later);
    }

    void send(FrameGenerator generator, int frames) {
      for (int i = 0; i < frames; i++) {
        byte[] frame = generator.wellFormed();
        send(frame, frame.length);
      }
    }

    void send(byte[] bytes, int length) {
      end().sendAll(bytes, length);
    }

    void disconnect() {
      Posix.shutdownSending(end().fd());
    }

    String reason() {
      await(runner);
      Object result = outcome.get();
      if (result instanceof Throwable failure) {
        throw new AssertionError("the session failed", failure);
      }
      assertThat(result).as("the session hangs").isNotNull();
      return (String) result;
    }

    @Override
    public void close() {
      Posix.shutdown(end().fd());
      await(runner);
      ends.forEach(end -> Posix.shutdown(end.fd()));
      drains.forEach(Pipe::await);
      ends.forEach(ProgramEnd::close);
      Posix.close(firstFd);
    }

    private static void await(Thread thread) {
      try {
        thread.join(60_000);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    private void runSession() {
      try {
        session.welcome();
        outcome.set(session.run());
      } catch (RuntimeException | Error e) {
        outcome.set(e);
      }
      Posix.shutdown(firstFd);
    }

    private static void dropAnswers(ProgramEnd from) {
      while (from.receive(1 << 20, 0).length > 0) {
        // host functions are ended by generated callbackDone frames, now and then
      }
    }
  }
}
