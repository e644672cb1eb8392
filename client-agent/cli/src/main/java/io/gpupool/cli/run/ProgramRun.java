// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.run;

import io.gpupool.agent.Agent;
import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.cli.AgentSocket;
import io.gpupool.cli.CommandHolder;
import io.gpupool.cli.Environment;
import io.gpupool.cli.Installation;
import io.gpupool.cli.LeaseAdvice;
import io.gpupool.cli.ReturnedLease;
import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.Queued;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.wire.TextMessage;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;

/**
 * One program on one lease: holds the lease, serves the program's calls to the agent, and gives
 * everything back when the program has ended.
 */
public final class ProgramRun {
  private final Installation installation;
  private final RunOptions options;
  private final LocalPool.Starter pools;

  /**
   * Runs nothing yet.
   *
   * @param pools starts a pool where the options name none and no agent knows one
   */
  public ProgramRun(Installation installation, RunOptions options, LocalPool.Starter pools) {
    this.installation = installation;
    this.options = options;
    this.pools = pools;
  }

  /**
   * Runs the program.
   *
   * @return its exit status, 128 + N when signal N ended it
   * @throws PoolRequestException if no lease is granted
   */
  public int run(List<String> command) throws IOException, InterruptedException {
    SupervisedProgram.ignoreQuit();
    LeaseRequest request =
        options
            .wish()
            .request(CommandHolder.of(Path.of(command.getFirst()).getFileName().toString()));
    EventLoopGroup loops = EventLoops.create("gpupool-run", 1);
    Optional<UnixAddress> socket = options.wantsOwnPool() ? Optional.empty() : AgentSocket.toFind();
    Optional<TextMessage> running = socket.flatMap(address -> AgentSocket.status(address, loops));
    Optional<PoolAddress> pool =
        options
            .pool()
            .or(() -> running.flatMap(agent -> agent.get("pool")).map(PoolAddress::parse));
    if (pool.isEmpty()) {
      try (LocalPool own = pools.start(options.ownPool())) {
        return withOwnAgent(own.address(), ClientSecurity.DEFAULT, request, command, loops);
      }
    }
    if (running.isEmpty() || options.relay()) {
      return withOwnAgent(pool.get(), options.security(), request, command, loops);
    }
    try (PoolClient client =
        new PoolClient(pool.get(), Environment.token(), options.security(), loops)) {
      UnixAddress agent = socket.orElseThrow();
      return onLease(
          client,
          agent,
          (lease, reason) -> AgentSocket.tellEnded(agent, lease, reason, loops),
          request,
          command);
    }
  }

  private int withOwnAgent(
      PoolAddress pool,
      ClientSecurity security,
      LeaseRequest request,
      List<String> command,
      EventLoopGroup loops)
      throws IOException, InterruptedException {
    UnixAddress socket = new UnixAddress("@gpupool-run-" + UUID.randomUUID());
    AgentOptions agentOptions =
        new AgentOptions(
            new AgentSockets(socket, AgentSocket.SYSTEM_FOLDER),
            pool,
            Environment.token(),
            security,
            LeaseOptions.NOTHING,
            options.relay(),
            null,
            false);
    try (Agent agent = Agent.start(agentOptions, loops)) {
      // The program finds the agent's connection to the pool open.
      return onLease(
          agent.connect(pool, Environment.token()), socket, agent::leaseEnded, request, command);
    }
  }

  private int onLease(
      PoolClient client,
      UnixAddress agent,
      BiConsumer<HeldLease, String> onEnded,
      LeaseRequest request,
      List<String> command)
      throws IOException, InterruptedException {
    try (ReturnedLease returned = new ReturnedLease(client, request, ProgramRun::tellPlace)) {
      HeldLease lease = granted(returned, client);
      lease
          .ended()
          .thenAccept(reason -> {
            System.err.println("gpupool: the lease has ended: " + reason);
            onEnded.accept(lease, reason);
          });
      return start(command, agent, lease, client.address());
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
    // NCCL knows nothing of how the GPUs lie to each other, and would pass data through memory of
    // this machine that a GPU reads while the processor writes it; from GPU to GPU works.
    program.setDefault("NCCL_P2P_LEVEL", "SYS");
    if (areConnected(lease.lease().getGrantsList())
        && !Environment.variable("GPUPOOL_NCCL").equals(Optional.of("off"))) {
      preload(program, installation.require(installation.nccl()).toString());
    }
    if (areSoftware(lease.lease().getGrantsList())) {
      prepareForSoftware(program);
    }
    return program.run();
  }

  /** Has tools that make machine code keep PTX, which is what software GPUs run. */
  private void prepareForSoftware(SupervisedProgram program) throws IOException {
    preload(program, installation.require(installation.nvrtc()).toString());
    String ptxas = installation.require(installation.ptxas()).toString();
    program.setDefault("TRITON_PTXAS_PATH", ptxas);
    program.setDefault("TRITON_PTXAS_BLACKWELL_PATH", ptxas);
    if (Environment.variable("GPUPOOL_TORCH_FALLBACK").isPresent()) {
      program.prepend("PYTHONPATH", installation.require(installation.python()).toString());
    }
  }

  /** Returns whether all of them are software GPUs; false if an older server does not say. */
  static boolean areSoftware(List<Grant> grants) {
    return !grants.isEmpty()
        && grants.stream().allMatch(grant -> grant.getBackend().equals("soft"));
  }

  /** Returns whether the servers of all of them carry out NCCL's calls. */
  static boolean areConnected(List<Grant> grants) {
    return !grants.isEmpty() && grants.stream().allMatch(Grant::getCollectives);
  }

  private static void preload(SupervisedProgram program, String library) {
    // The loader would take such a path for several.
    if (library.indexOf(' ') < 0 && library.indexOf(':') < 0) {
      program.prepend("LD_PRELOAD", library);
      // Programs built with gcc's address sanitizer refuse to start behind any other library.
      program.prepend("ASAN_OPTIONS", "verify_asan_link_order=0");
    }
  }

  private static HeldLease granted(ReturnedLease asked, PoolClient client) {
    try {
      return asked.await();
    } catch (CompletionException e) {
      PoolRequestException refusal = PoolRequestException.of(e, client.address());
      String told =
          refusal.why() == PoolRequestException.Cause.REFUSED
              ? "the lease is refused: " + LeaseAdvice.text(refusal)
              : refusal.getMessage();
      throw refusal.inWords(told);
    }
  }

  private static void tellPlace(Queued queued) {
    System.err.println("gpupool: waiting for GPUs, " + LeaseAdvice.text(queued));
  }
}
