// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.runtime.BackOff;
import io.gpupool.runtime.RandomHex;
import io.gpupool.runtime.Timers;
import io.gpupool.server.takeover.WorkerRecord;
import io.gpupool.wire.DriverEnvironment;
import java.io.File;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The worker processes of this server, some of them spare. Owned by the control thread. Processes
 * are started on a thread of their own that lives as long as the server, because the kernel ties a
 * worker's parent-death signal to the thread that started it.
 */
public final class WorkerPool {
  private static final long START_LIMIT_MILLIS = 60_000;
  private static final long REFILL_DELAY_MILLIS = 300;
  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);
  private static final int TOKEN_BYTES = 16;
  private static final Logger LOG = LoggerFactory.getLogger(WorkerPool.class);

  private final WorkerLaunch launch;
  private final int wantedSpares;
  private final boolean keepsSpares;
  private final Timers timers;
  private final Executor control;
  private final Executor spawner;
  private final SecureRandom random = new SecureRandom();
  private final Map<String, Worker> byToken = new LinkedHashMap<>();
  private final BackOff backOff = BackOff.exact(FIRST_PAUSE, LONGEST_PAUSE);

  /** The pause before a worker is started again; zero while workers start. */
  private Duration pause = Duration.ZERO;

  private boolean refillPlanned;
  private boolean everReady;
  private boolean stopped;
  private long started;
  private long failed;

  /** The environment of spares; null until somebody asks. */
  private @Nullable Map<String, String> ofSpares;

  private Runnable onLast = () -> {};
  private Runnable onChanged = () -> {};

  public WorkerPool(
      WorkerLaunch launch,
      int wantedSpares,
      boolean keepsSpares,
      Timers timers,
      Executor control,
      Executor spawner) {
    this.launch = launch;
    this.wantedSpares = wantedSpares;
    this.keepsSpares = keepsSpares;
    this.timers = timers;
    this.control = control;
    this.spawner = spawner;
  }

  /** Whether none of the spares can serve a program with such an environment. */
  boolean needsOwn(DriverEnvironment environment) {
    if (environment.isEmpty() || !launch.startsEarly()) {
      return false;
    }
    if (ofSpares == null) {
      ofSpares = Map.copyOf(launch.process("", null, null, false).environment());
    }
    return !environment.missingIn(ofSpares).isEmpty();
  }

  /** A new worker with the driver's start put off until it has its assignment. */
  Worker takeOwn() {
    Worker worker = start(true);
    worker.take();
    return worker;
  }

  /** The warmest worker without a session, or a new one; it may still be starting. */
  Worker take() {
    Optional<Worker> linked = spares().stream().filter(Worker::isLinked).findFirst();
    Worker worker =
        linked
            .or(() -> spares().stream().findFirst())
            .orElseGet(() -> start(launch.seesAssigned()));
    worker.take();
    planRefill(REFILL_DELAY_MILLIS);
    return worker;
  }

  /** Has {@code action} run whenever a worker has started, or will not. */
  void whenChanged(Runnable action) {
    onChanged = action;
  }

  boolean hasSpare() {
    return !spares().isEmpty();
  }

  /** Processes that were started and have not reported yet. */
  List<Worker> starting() {
    return byToken.values().stream().filter(w -> w.isUsable() && !w.isLinked()).toList();
  }

  public int spareCount() {
    return (int) spares().stream().filter(Worker::isLinked).count();
  }

  /** Processes since the start. */
  public long started() {
    return started;
  }

  /** Those of them that died before they reported. */
  public long failed() {
    return failed;
  }

  /** Why no program can be served now; empty if one can, as far as is known. */
  public Optional<String> trouble() {
    if (stopped) {
      return Optional.of("the server is stopping");
    }
    if (!pause.isZero()) {
      return Optional.of("workers do not start; the server's log says why");
    }
    // A server that keeps no spares starts its first worker for the first program.
    return everReady || wantedSpares == 0
        ? Optional.empty()
        : Optional.of("the first worker is still starting");
  }

  /** Starts as many workers as spares are missing. */
  public void refill() {
    refillPlanned = false;
    for (int missing = wantedSpares - spares().size(); missing > 0 && !stopped; missing--) {
      start(launch.seesAssigned());
    }
  }

  /** Which worker this token was made for, if its process has this id. */
  Optional<Worker> authenticate(String token, int pid) {
    return Optional.ofNullable(byToken.get(token))
        .filter(worker -> worker.isUsable() && !worker.isLinked())
        .filter(worker -> worker.pid().isEmpty() || worker.pid().getAsInt() == pid);
  }

  /** A worker says that it is warmed up. */
  void ready(Worker worker) {
    backOff.reset();
    pause = Duration.ZERO;
    everReady = true;
    LOG.debug("worker {} is ready", worker.pid().orElse(0));
  }

  /**
   * Takes over a worker of the server's former process, which is claimed next.
   *
   * @throws IllegalArgumentException if there is one with its token
   */
  Worker takeOver(WorkerRecord record) {
    Worker worker =
        new Worker(record.token(), launch.seesAssigned(), record.user(), record.socket(), timers);
    if (byToken.putIfAbsent(record.token(), worker) != null) {
      throw new IllegalArgumentException("two workers with one token");
    }
    worker.take();
    launch.sandbox().takeAgain(record.user());
    TakenProcess process = new TakenProcess(record.process(), timers, () -> exited(worker, null));
    worker.started(process);
    process.watch();
    return worker;
  }

  /**
   * Ends all workers; {@code onLast} runs on the control thread when the last one is dead.
   *
   * @param leaves whether those are left to the server's next process that it can take over
   */
  public void stop(boolean leaves, Runnable action) {
    stopped = true;
    onLast = action;
    for (Worker worker : List.copyOf(byToken.values())) {
      worker.session().ifPresentOrElse(session -> stop(worker, session, leaves), worker::end);
    }
    endIfEmpty();
  }

  private void stop(Worker worker, WorkerSession session, boolean leaves) {
    if (!leaves) {
      session.end("the server is stopping");
      return;
    }
    session.outliveServer(() -> {
      byToken.remove(worker.token);
      worker.leave();
      endIfEmpty();
    });
  }

  private void endIfEmpty() {
    if (stopped && byToken.isEmpty()) {
      Runnable action = onLast;
      onLast = () -> {};
      action.run();
    }
  }

  private List<Worker> spares() {
    return byToken.values().stream().filter(Worker::isSpare).toList();
  }

  private Worker start(boolean late) {
    Worker worker =
        new Worker(
            RandomHex.of(random, TOKEN_BYTES),
            launch.seesAssigned(),
            launch.sandbox().takeUser().orElse(null),
            launch.newSocket(),
            timers);
    byToken.put(worker.token, worker);
    worker.whenLinked(this::changed);
    started++;
    spawner.execute(() -> spawn(worker, late));
    timers.after(
        START_LIMIT_MILLIS,
        () -> {
          if (worker.isUsable() && !worker.isLinked()) {
            LOG.error("worker {} did not report in time", worker.pid().orElse(0));
            worker.end();
          }
        });
    return worker;
  }

  /** On the spawner's thread. */
  private void spawn(Worker worker, boolean late) {
    try {
      ProcessBuilder builder = launch.process(worker, late);
      builder.redirectInput(new File("/dev/null"));
      builder.redirectOutput(ProcessBuilder.Redirect.DISCARD);
      builder.redirectError(ProcessBuilder.Redirect.INHERIT);
      Process process = builder.start();
      control.execute(() -> worker.started(new ChildProcess(process)));
      process.onExit().thenRunAsync(() -> exited(worker, process.exitValue()), control);
    } catch (IOException e) {
      LOG.error("cannot start a worker: {}", e.getMessage());
      control.execute(() -> exited(worker, -1));
    }
  }

  private void exited(Worker worker, @Nullable Integer status) {
    boolean expected = !worker.isUsable();
    if (!byToken.remove(worker.token, worker)) {
      // It was left to the server's next process.
      return;
    }
    launch.cleanUp(worker);
    worker.exited();
    if (worker.session().isPresent()) {
      worker.session().get().workerExited(status);
    } else if (!expected && !stopped) {
      LOG.error(
          "spare worker {} exited with status {}; its messages are above",
          worker.pid().orElse(0),
          Objects.requireNonNullElse(status, -1));
    }
    if (!worker.isLinked() && status != null) {
      failed++;
      pause = backOff.next();
    }
    planRefill(Math.max(pause.toMillis(), REFILL_DELAY_MILLIS));
    changed();
    endIfEmpty();
  }

  private void changed() {
    if (!stopped) {
      onChanged.run();
    }
  }

  private void planRefill(long delayMillis) {
    if (keepsSpares && !refillPlanned && !stopped) {
      refillPlanned = true;
      timers.after(delayMillis, this::refill);
    }
  }
}
