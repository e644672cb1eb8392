// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.runtime.RandomHex;
import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.driver.DriverOptions.Sharing;
import io.gpupool.server.driver.MpsControl;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.inventory.ServedGpus;
import io.gpupool.server.options.ServerOptions;
import io.gpupool.server.sandbox.Sandbox;
import io.gpupool.server.sandbox.SandboxScope;
import io.gpupool.server.worker.DriverStart;
import io.gpupool.server.worker.WorkerLaunch;
import io.gpupool.server.worker.WorkerPool;
import io.gpupool.server.worker.WorkerSocket;
import io.gpupool.transport.UnixAddress;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The worker processes of a server: their sandbox, their socket, and the spare ones. */
record WorkerPlane(WorkerPool workers, Sandbox sandbox) {
  private static final int NAME_BYTES = 8;

  /** Opens the workers' socket and starts spare workers. */
  static WorkerPlane open(
      ServerOptions options,
      ServedGpus.Probe probe,
      RunPlane run,
      Departure departure,
      ServerThreads threads,
      CloseSteps steps)
      throws IOException {
    Optional<MpsControl> mps = startMps(options, probe);
    mps.ifPresent(started -> steps.add(started::close));
    Sandbox sandbox = openSandbox(options, probe, mps.orElse(null));
    UnixAddress address =
        new UnixAddress("@gpupool-" + RandomHex.of(new SecureRandom(), NAME_BYTES));
    WorkerPool workers =
        new WorkerPool(
            new WorkerLaunch(
                options.workers().command(),
                address.text(),
                arguments(options, probe),
                mps.map(MpsControl::environment).orElse(Map.of()),
                driverStart(probe, mps.isPresent()),
                sandbox,
                run.folder()),
            options.workers().spares(),
            options.workers().refill(),
            threads.control(),
            threads.control(),
            threads.spawner());
    WorkerSocket socket = new WorkerSocket(address, threads.loop(), threads.control(), workers);
    steps.add(socket::close);
    steps.addAwaited(
        done -> threads.control().execute(() -> workers.stop(departure.leaves(), done)));
    threads.control().execute(workers::refill);
    return new WorkerPlane(workers, sandbox);
  }

  private static Optional<MpsControl> startMps(ServerOptions options, ServedGpus.Probe probe)
      throws IOException {
    return probe.driver() != null && options.gpus().driver().sharing() == Sharing.mps
        ? Optional.of(MpsControl.start())
        : Optional.empty();
  }

  private static Sandbox openSandbox(
      ServerOptions options, ServedGpus.Probe probe, @Nullable MpsControl mps) throws IOException {
    return Sandbox.open(
        options.workers().command().sandbox(),
        new SandboxScope(
            probe.driver() == null,
            options.gpus().driver().libraries(),
            System.getenv("LD_LIBRARY_PATH"),
            probe.hasNccl(),
            mps == null ? List.of() : mps.folders()));
  }

  private static DriverStart driverStart(ServedGpus.Probe probe, boolean isMps) {
    if (probe.driver() == null) {
      return DriverStart.NEVER;
    }
    boolean hasSlices = probe.driver().stream().anyMatch(Gpu::isSlice);
    return isMps || hasSlices ? DriverStart.ASSIGNED : DriverStart.EARLY;
  }

  /** With what the probe has found, if the operator does not say it. */
  private static List<String> arguments(ServerOptions options, ServedGpus.Probe probe) {
    List<String> arguments = new ArrayList<>(options.gpus().backendArguments(probe.spec()));
    long contextBytes =
        Objects.requireNonNullElse(probe.driver(), List.<Gpu>of()).stream()
            .mapToLong(gpu -> gpu.facts().contextBytes())
            .max()
            .orElse(0);
    if (probe.driver() != null && !probe.hasNccl() && !options.gpus().driver().isNcclOff()) {
      arguments.addAll(List.of("--libnccl", "none"));
    }
    if (contextBytes > 0 && options.gpus().driver().contextBytes() == null) {
      arguments.addAll(DriverOptions.contextArguments(contextBytes));
    }
    if (options.tls().sealsCallStreams()) {
      arguments.add("--seals");
    }
    return arguments;
  }
}
