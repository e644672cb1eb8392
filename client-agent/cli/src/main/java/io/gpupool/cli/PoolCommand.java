// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.agent.PoolAddress;
import io.gpupool.agent.PoolClient;
import io.gpupool.transport.EventLoops;
import io.netty.channel.EventLoopGroup;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Option;

/** A command that asks a pool something and prints the answer. */
abstract class PoolCommand implements Callable<Integer> {
  /** The forms of output. */
  enum Output {
    table,
    json
  }

  @Option(
      names = "--pool",
      paramLabel = "HOST[:PORT]",
      description = "the pool's control plane (else GPUPOOL_POOL, else this machine's port 7642)")
  private Optional<String> pool = Optional.empty();

  @Option(names = "--output", description = "table or json", defaultValue = "table")
  private Output output = Output.table;

  final PoolAddress address() {
    return pool.or(Environment::pool)
        .map(PoolAddress::parse)
        .orElse(new PoolAddress("localhost", PoolAddress.DEFAULT_PORT));
  }

  final boolean json() {
    return output == Output.json;
  }

  /** Asks and prints. */
  abstract int ask(PoolClient client) throws Exception;

  @Override
  public Integer call() throws Exception {
    EventLoopGroup loops = EventLoops.create("gpupool-command", 1);
    try (PoolClient client = new PoolClient(address(), Environment.token(), loops)) {
      return ask(client);
    }
  }
}
