// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.agent.Agent;
import io.gpupool.agent.AgentOptions;
import io.gpupool.agent.HeldLease;
import io.gpupool.agent.LeaseWish;
import io.gpupool.agent.PoolAddress;
import io.gpupool.agent.PoolClient;
import io.gpupool.agent.Refusal;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.Queued;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionException;

/**
 * One program on one lease: holds the lease, serves the program's calls to the agent, and gives
 * everything back when the program has ended.
 */
final class ProgramRun {
  private final Installation installation;
  private final RunOptions options;

  ProgramRun(Installation installation, RunOptions options) {
    this.installation = installation;
    this.options = options;
  }

  /**
   * Runs the program.
   *
   * @return its exit status, 128 + N when signal N ended it
   * @throws Refusal if no lease is granted
   */
  int run(List<String> command) throws IOException, InterruptedException {
    SupervisedProgram.ignoreQuit();
    LeaseWish wish = options.wish();
    LeaseRequest request = wish.request(holder(command));
    Optional<PoolAddress> configured = options.pool();
    if (configured.isPresent()) {
      return onPool(configured.get(), request, command);
    }
    try (EmbeddedPool pool =
        EmbeddedPool.start(installation, options.embeddedGpus(), options.libcuda())) {
      return onPool(pool.address(), request, command);
    }
  }

  private int onPool(PoolAddress pool, LeaseRequest request, List<String> command)
      throws IOException, InterruptedException {
    EventLoopGroup loops = EventLoops.create("gpupool-run", 1);
    UnixAddress socket = new UnixAddress("@gpupool-run-" + UUID.randomUUID());
    AgentOptions agentOptions =
        new AgentOptions(
            socket, Optional.of(pool), Environment.token(), LeaseWish.NOTHING, false, false);
    try (Agent _ = Agent.start(agentOptions, loops);
        PoolClient client = new PoolClient(pool, Environment.token(), loops)) {
      HeldLease lease = lease(client, pool, request);
      try {
        return start(command, socket, lease, pool);
      } finally {
        lease.release().join();
      }
    }
  }

  private int start(List<String> command, UnixAddress socket, HeldLease lease, PoolAddress pool)
      throws IOException, InterruptedException {
    Path shim = installation.require(installation.shim());
    SupervisedProgram program =
        new SupervisedProgram(installation.require(installation.launcher()), command);
    program.prepend("LD_LIBRARY_PATH", shim.toString());
    program.set("GPUPOOL_AGENT", socket.text());
    program.set("GPUPOOL_LEASE", lease.ticket());
    program.set("GPUPOOL_POOL", pool.toString());
    lease
        .ended()
        .thenAccept(reason -> System.err.println("gpupool: the lease has ended: " + reason));
    return program.run();
  }

  private static HeldLease lease(PoolClient client, PoolAddress pool, LeaseRequest request) {
    try {
      return client.requestLease(request, ProgramRun::tellPlace).join();
    } catch (CompletionException e) {
      Refusal refusal = Refusal.of(e, pool);
      String told =
          refusal.why() == Refusal.Cause.REFUSED
              ? "the lease is refused: " + refusal.getMessage()
              : refusal.getMessage();
      throw new Refusal(refusal.why(), told);
    }
  }

  private static void tellPlace(Queued queued) {
    System.err.println(
        "gpupool: waiting for GPUs, place " + queued.getPosition() + ": " + queued.getReason());
  }

  private static Holder holder(List<String> command) throws IOException {
    return Holder.newBuilder()
        .setHost(InetAddress.getLocalHost().getHostName())
        .setPid((int) ProcessHandle.current().pid())
        .setProgram(Path.of(command.getFirst()).getFileName().toString())
        .setUser(System.getProperty("user.name"))
        .build();
  }
}
