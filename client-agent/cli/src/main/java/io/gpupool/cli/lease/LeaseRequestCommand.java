// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.lease;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.CommandHolder;
import io.gpupool.cli.Environment;
import io.gpupool.cli.ExitStatus;
import io.gpupool.cli.LeaseAdvice;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.ReturnedLease;
import io.gpupool.cli.run.RunOptions;
import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.Queued;
import io.gpupool.json.JsonForm;
import io.gpupool.transport.EventLoops;
import io.netty.channel.EventLoopGroup;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code gpupool lease request}: a lease that lives as long as this command. */
@Command(
    name = "request",
    description = {
      "Leases GPUs and holds them until it is ended (Ctrl-C, SIGTERM) or the lease is. Programs of",
      "any shell use them with the GPUPOOL_LEASE and GPUPOOL_POOL that it prints."
    })
final class LeaseRequestCommand implements Callable<Integer> {
  @Mixin private RunOptions options;

  @Option(names = "--output", description = "table or json", defaultValue = "table")
  private PoolCommand.Output output = PoolCommand.Output.table;

  @Override
  public Integer call() throws Exception {
    PoolAddress pool =
        options
            .security()
            .secured(options.pool().orElse(new PoolAddress("localhost", PoolAddress.DEFAULT_PORT)));
    EventLoopGroup loops = EventLoops.create("gpupool-lease", 1);
    try (PoolClient client = new PoolClient(pool, Environment.token(), options.security(), loops)) {
      Holder holder = CommandHolder.of("gpupool lease request");
      try (ReturnedLease returned =
          new ReturnedLease(client, options.wish().request(holder), this::tellPlace)) {
        HeldLease lease = granted(returned, client);
        show(lease, pool);
        System.err.println("gpupool: the lease has ended: " + lease.ended().join());
        return ExitStatus.NO_LEASE;
      }
    }
  }

  private static HeldLease granted(ReturnedLease asked, PoolClient client) {
    try {
      return asked.await();
    } catch (CompletionException e) {
      PoolRequestException refusal = PoolRequestException.of(e, client.address());
      throw refusal.inWords(LeaseAdvice.text(refusal));
    }
  }

  private void tellPlace(Queued queued) {
    System.err.println("gpupool: waiting for GPUs, " + LeaseAdvice.text(queued));
  }

  private void show(HeldLease lease, PoolAddress pool) {
    if (output == PoolCommand.Output.json) {
      System.out.println(JsonForm.text(JsonForm.of(lease.lease())));
    } else {
      for (Grant grant : lease.lease().getGrantsList()) {
        System.out.println(
            "# "
                + grant.getServer()
                + "/"
                + grant.getGpu()
                + ": "
                + Amounts.bytes(grant.getMemoryBytes())
                + ", "
                + Amounts.percent(grant.getComputePercent())
                + " compute");
      }
      System.out.println("export GPUPOOL_POOL=" + pool);
      System.out.println("export GPUPOOL_LEASE=" + lease.ticket());
    }
    System.out.flush();
  }
}
