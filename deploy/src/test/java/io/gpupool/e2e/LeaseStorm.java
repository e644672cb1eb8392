// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseRequest;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/** Clients that all ask at once for many leases, hold each for a moment and give it back. */
final class LeaseStorm implements AutoCloseable {
  private static final int HOLD_MILLIS = 20;

  private final List<PoolClient> clients = new ArrayList<>();
  private final EventLoopGroup loops;
  private final Queue<String> granted = new ConcurrentLinkedQueue<>();
  private final Queue<String> failures = new ConcurrentLinkedQueue<>();

  /** Clients that know all servers, each beginning with another. */
  LeaseStorm(int clients, List<String> addresses, EventLoopGroup loops) {
    this.loops = loops;
    for (int i = 0; i < clients; i++) {
      List<String> mine = new ArrayList<>(addresses);
      Collections.rotate(mine, i);
      this.clients.add(
          new PoolClient(
              PoolAddress.parse(String.join(",", mine)), null, ClientSecurity.DEFAULT, loops));
    }
  }

  /** Completes when every lease was granted and given back, or refused. */
  CompletableFuture<Void> run(int leases, double fraction, Duration wait) {
    List<CompletableFuture<Void>> all = new ArrayList<>();
    for (int i = 0; i < leases; i++) {
      LeaseRequest request =
          LeaseRequest.newBuilder()
              .setFraction(fraction)
              .setWaitMillis(wait.toMillis())
              .setHolder(Holder.newBuilder().setHost("storm").setPid(i + 1).setProgram("storm"))
              .build();
      all.add(
          clients
              .get(i % clients.size())
              .requestLease(request, queued -> {})
              .thenCompose(this::use)
              .exceptionally(failure -> {
                failures.add(failure.toString());
                return null;
              }));
    }
    return CompletableFuture.allOf(all.toArray(CompletableFuture[]::new));
  }

  private CompletableFuture<Void> use(HeldLease lease) {
    granted.add(lease.lease().getId());
    CompletableFuture<Void> done = new CompletableFuture<>();
    loops.schedule(
        () -> {
          lease.release().thenAccept(done::complete);
        },
        HOLD_MILLIS,
        TimeUnit.MILLISECONDS);
    return done;
  }

  /** Ids of leases, as their clients were told. */
  List<String> granted() {
    return List.copyOf(granted);
  }

  List<String> failures() {
    return List.copyOf(failures);
  }

  @Override
  public void close() {
    clients.forEach(PoolClient::close);
  }
}
