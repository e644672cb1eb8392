// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.agent;

import io.gpupool.agent.Agent;
import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.cli.AgentSocket;
import io.gpupool.cli.Environment;
import io.gpupool.cli.SecurityOptions;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.runtime.LogConfiguration;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.Signals;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.metrics.MetricOptions;
import io.gpupool.transport.metrics.OtlpCollector;
import io.gpupool.transport.metrics.ProcessMeters;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code gpupool agent}: connects the programs of this machine with their pool. */
@Command(name = "agent", description = "Connects the CUDA programs of this machine with a pool.")
public final class AgentCommand implements Callable<Integer> {
  @Option(
      names = "--pool",
      paramLabel = "[tls://]HOST[:PORT]",
      description = "the pool of programs that name none (else GPUPOOL_POOL)")
  private @Nullable String pool;

  @Mixin private SecurityOptions security = new SecurityOptions();

  @Option(
      names = "--socket",
      paramLabel = "PATH|@NAME",
      description = {
        "where programs find the agent (else GPUPOOL_AGENT, else /run/gpupool/agent.sock,",
        "else $XDG_RUNTIME_DIR/gpupool/agent.sock)"
      })
  private @Nullable String socket;

  @Option(
      names = "--relay",
      description = "relay all bytes instead of handing over the connections")
  private boolean relay;

  @Option(names = "--any-user", description = "serve the programs of all users, not only one's own")
  private boolean anyUser;

  @Option(
      names = "--local-sockets",
      paramLabel = "FOLDER",
      description = {
        "where servers of this machine leave their sockets for call streams (--local-socket)",
        "(default: the folder of the agent's own socket)"
      })
  private @Nullable Path localSockets;

  @Mixin private MetricOptions metrics = new MetricOptions();

  @Override
  public Integer call() throws Exception {
    LogConfiguration.forService();
    UnixAddress address =
        Optional.ofNullable(socket)
            .or(() -> Environment.variable("GPUPOOL_AGENT"))
            .map(UnixAddress::new)
            .orElseGet(AgentSocket::toCreate);
    AgentOptions options =
        new AgentOptions(
            new AgentSockets(address, localSockets),
            Optional.ofNullable(pool).or(Environment::pool).map(PoolAddress::parse).orElse(null),
            Environment.token(),
            security.following(),
            Environment.wish(),
            relay,
            null,
            anyUser);
    Optional<OtlpCollector> collector = metrics.collector();
    try (Agent agent = Agent.start(options, EventLoops.create("gpupool-agent", 1));
        ProcessMeters _ = collector.map(to -> measured(agent, to)).orElse(null)) {
      System.out.println("gpupool agent ready: " + address);
      System.out.flush();
      Signals.awaitTermination();
    }
    return 0;
  }

  private static ProcessMeters measured(Agent agent, OtlpCollector collector) {
    ProcessMeters meters = new ProcessMeters("gpupool-agent", collector);
    agent.measure(meters);
    return meters;
  }
}
