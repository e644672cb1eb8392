// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import io.gpupool.cuda.Backend;
import io.gpupool.nvml.Nvml;
import io.gpupool.soft.compile.cache.KernelCache;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.assignment.AssignedSession;
import io.gpupool.worker.assignment.Confinement;
import io.gpupool.worker.control.CacheLink;
import io.gpupool.worker.control.ClaimListener;
import io.gpupool.worker.control.ControlLink;
import io.gpupool.worker.control.KernelOutput;
import io.gpupool.worker.control.ServerExchange;
import io.gpupool.worker.control.ServerRanks;
import io.gpupool.worker.gpu.DividedCards;
import io.gpupool.worker.gpu.Probe;
import io.gpupool.worker.gpu.Trial;
import io.gpupool.worker.os.ParentBond;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.warmup.WarmUp;
import io.gpupool.worker.watch.GpuWatch;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The worker process: waits as a spare until the pool-server assigns a session to it, runs that
 * session, and exits. When the pool-server closes the control connection, it exits at once, or
 * waits for the next one if its session outlives the server.
 */
public final class WorkerMain {
  private static final int USAGE_ERROR = 2;
  private static final int FAILED = 1;

  private WorkerMain() {}

  public static void main(String[] arguments) {
    int status;
    try {
      WorkerOptions options = WorkerOptions.parse(arguments);
      status =
          switch (options.mode()) {
            case SERVE -> serve(options);
            case PROBE -> probe(options);
            case WATCH -> watch(options);
            case TRIAL -> trial(options);
          };
    } catch (IllegalArgumentException e) {
      status = failed(USAGE_ERROR, e.getMessage());
    } catch (DriverException e) {
      status = failed(e.exitStatus(), e.getMessage());
    } catch (IOException | WireException | IllegalStateException e) {
      status = failed(FAILED, e.getMessage());
    }
    // Threads that still wait in a backend do not keep the process.
    System.out.flush();
    Runtime.getRuntime().halt(status);
  }

  /** Slices of cards are named alone: a process sees one of them, if it is told which. */
  private static int probe(WorkerOptions options) throws DriverException {
    List<String> parts =
        options.isSoft() || options.driver().undivided()
            ? List.of()
            : DividedCards.uuids(options.driver().libnvml());
    if (parts.isEmpty()) {
      Probe.lines(Backends.open(options, KernelCache.NONE), options.libnccl())
          .forEach(System.out::println);
    } else {
      parts.forEach(uuid -> System.out.println("part uuid=" + uuid));
    }
    return 0;
  }

  private static int watch(WorkerOptions options) throws DriverException {
    Nvml nvml =
        Nvml.open(options.driver().libnvml())
            .orElseThrow(() ->
                new DriverException(
                    DriverException.Stage.NOT_FOUND,
                    options.driver().libnvml() + " cannot be loaded and initialised"));
    new GpuWatch(nvml, System.out).run();
    return 0;
  }

  private static int trial(WorkerOptions options) throws DriverException {
    Trial.run(Backends.open(options, KernelCache.NONE));
    return 0;
  }

  /** Runs until the control connection is closed, and no other server takes over. */
  private static int serve(WorkerOptions options)
      throws IOException, WireException, DriverException {
    ParentBond parent = ParentBond.tie(System.getenv());
    Confinement confinement = Confinement.of(System.getenv());
    String token = Optional.ofNullable(System.getenv("GPUPOOL_WORKER_TOKEN")).orElse("");
    ClaimListener claims =
        confinement
            .listen(options.listen())
            .map(socket -> new ClaimListener(socket, token))
            .orElse(null);
    ControlLink control =
        new ControlLink(confinement.connect(Objects.requireNonNull(options.control())));
    control.send(hello(token).build());
    ServerExchange exchange = new ServerExchange(control);
    CacheLink cache = new CacheLink(control);
    ServerRanks ranks = new ServerRanks(control);
    AssignedSession session = new AssignedSession(control, exchange, ranks, cache, confinement);
    Thread.ofPlatform()
        .name("start")
        .daemon()
        .start(() -> start(options, control, session, cache, confinement));
    Takeover takeover =
        new Takeover(claims, () -> hello(token), control, session, exchange, parent);
    new ControlMessages(control, session, exchange, ranks, cache, takeover).handleAll();
    return 0;
  }

  private static TextMessage.Builder hello(String token) {
    return TextMessage.ofType("hello")
        .put("pid", ProcessHandle.current().pid())
        .put("token", token)
        .put("protocol", ClaimListener.PROTOCOL);
  }

  private static void start(
      WorkerOptions options,
      ControlLink control,
      AssignedSession session,
      CacheLink cache,
      Confinement confinement) {
    try {
      if (options.driver().late()) {
        warmUp(options, control, session);
        session.awaitAssignment().environment().forEach(Posix::setEnvironment);
      }
      KernelOutput output = options.isSoft() ? null : KernelOutput.redirect();
      Backend backend = Backends.open(options, KernelCache.on(cache.kernels()));
      session.ready(backend, output);
      if (!options.driver().late()) {
        warmUp(options, control, session);
        // A spare has time for it now; a session that is there already has waited for it.
        confinement.complete();
      }
    } catch (IOException e) {
      Runtime.getRuntime().halt(failed(FAILED, "it cannot be confined: " + e.getMessage()));
    } catch (DriverException | IllegalArgumentException e) {
      Runtime.getRuntime().halt(failed(FAILED, e.getMessage()));
    } catch (RuntimeException | Error e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(FAILED);
    }
  }

  private static void warmUp(WorkerOptions options, ControlLink control, AssignedSession session) {
    if (!session.isAttached()) {
      WarmUp.run(options.isSoft(), options.seals(), session::isAttached);
      tellReady(control);
    }
  }

  private static void tellReady(ControlLink control) {
    try {
      control.send(TextMessage.ofType("ready").build());
    } catch (IOException e) {
      // The control connection is gone; its reader ends the process.
    }
  }

  private static int failed(int status, @Nullable String message) {
    System.err.println("gpupool worker: " + message);
    return status;
  }
}
