// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.agent.lease.PoolClients;
import io.gpupool.agent.lease.PoolCredentials;
import io.gpupool.client.OpenedSession;
import io.gpupool.client.PoolClient;
import io.gpupool.client.RedirectException;
import io.gpupool.client.StreamAbilities;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseServer;
import io.gpupool.wire.ClientHello;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/**
 * The sessions of one program: one at each server that has GPUs of its lease. Runs on the program's
 * event loop.
 */
final class LeaseSessions {
  private final AttachRequest.LeaseHandle ticket;
  private final Holder holder;
  private final Map<String, String> driverEnvironment;
  private final PoolCredentials credentials;
  private final PoolClient pool;
  private final PoolClients clients;
  private final EventLoop loop;
  private final StreamAbilities abilities;
  private final List<PoolClient> taken = new ArrayList<>();
  private final List<Opening> openings = new ArrayList<>();
  private boolean ended;

  private record Opening(PoolClient client, CompletableFuture<OpenedSession> session) {}

  /**
   * Opens nothing yet.
   *
   * @param pool whichever server of it is asked first; stays the caller's
   * @param abilities of the program on its call streams
   */
  LeaseSessions(
      AttachRequest.LeaseHandle ticket,
      Holder holder,
      Map<String, String> driverEnvironment,
      PoolCredentials credentials,
      PoolClient pool,
      PoolClients clients,
      EventLoop loop,
      StreamAbilities abilities) {
    this.ticket = ticket;
    this.holder = holder;
    this.driverEnvironment = driverEnvironment;
    this.credentials = credentials;
    this.pool = pool;
    this.clients = clients;
    this.loop = loop;
    this.abilities = abilities;
  }

  /** Opens all, or fails as the first of them that does; in the order of the lease's GPUs. */
  CompletableFuture<List<OpenedSession>> open() {
    return openAt(pool, "")
        .exceptionallyComposeAsync(this::openElsewhere, loop)
        .thenComposeAsync(this::openOthers, loop);
  }

  private CompletableFuture<OpenedSession> openAt(PoolClient client, String server) {
    if (ended) {
      return CompletableFuture.failedFuture(
          new PoolRequestException(PoolRequestException.Cause.INTERNAL, "the program has left"));
    }
    CompletableFuture<OpenedSession> opening =
        client.openSession(
            ticket.leaseId(), ticket.secret(), holder, server, driverEnvironment, abilities);
    openings.add(new Opening(client, opening));
    return opening;
  }

  /** One of the pool's other servers, which have the GPUs, is asked in the same way. */
  private CompletableFuture<OpenedSession> openElsewhere(Throwable failure) {
    return PoolRequestException.inner(failure) instanceof RedirectException other
        ? openAt(at(other.address()), "")
        : CompletableFuture.failedFuture(failure);
  }

  private CompletableFuture<List<OpenedSession>> openOthers(OpenedSession first) {
    List<LeaseServer> servers = first.servers();
    if (servers.size() > ClientHello.MAX_LINKS) {
      return CompletableFuture.failedFuture(
          new PoolRequestException(
              PoolRequestException.Cause.PROTOCOL,
              "the lease's GPUs are of "
                  + servers.size()
                  + " servers; a program can use those of "
                  + ClientHello.MAX_LINKS));
    }
    List<CompletableFuture<OpenedSession>> all = new ArrayList<>();
    for (int place = 0; place < servers.size(); place++) {
      all.add(
          place == first.place()
              ? CompletableFuture.completedFuture(first)
              : openAt(servers.get(place)));
    }
    return CompletableFuture.allOf(all.toArray(CompletableFuture[]::new))
        .thenApply(done -> all.stream().map(CompletableFuture::join).toList());
  }

  private CompletableFuture<OpenedSession> openAt(LeaseServer server) {
    if (server.getAddress().isEmpty()) {
      return CompletableFuture.failedFuture(
          new PoolRequestException(
              PoolRequestException.Cause.UNREACHABLE,
              "server "
                  + server.getName()
                  + ", which has "
                  + server.getGpus()
                  + " of the lease's GPUs, is not in the pool now"));
    }
    PoolClient there = at(server.getAddress());
    return openAt(there, server.getName())
        .exceptionallyCompose(failure ->
            CompletableFuture.failedFuture(
                PoolRequestException.of(failure, there.address()).at(server.getName())));
  }

  private PoolClient at(String text) {
    PoolAddress address = PoolAddress.parse(text);
    PoolClient there =
        clients.take(pool.address().tls() ? address.overTls() : address, credentials);
    taken.add(there);
    return there;
  }

  /** Ends those that are open or are about to be; completes when all is known. */
  CompletableFuture<Void> end() {
    ended = true;
    openings.forEach(opening ->
        opening.session().thenAccept(session -> opening.client().closeSession(session.handle())));
    return CompletableFuture.allOf(
            openings.stream().map(Opening::session).toArray(CompletableFuture[]::new))
        .handle((done, failure) -> null);
  }

  /**
   * Closes those that are open or are about to be, as {@link SessionEnd} does where they would
   * outlive the program.
   *
   * @param agentEnds whether nothing may take long any more
   */
  CompletableFuture<Void> close(BooleanSupplier agentEnds) {
    ended = true;
    return CompletableFuture.allOf(
        openings.stream()
            .map(opening ->
                opening
                    .session()
                    .thenCompose(session -> close(opening.client(), session, agentEnds))
                    .exceptionally(failure -> null))
            .toArray(CompletableFuture[]::new));
  }

  private CompletableFuture<Void> close(
      PoolClient client, OpenedSession session, BooleanSupplier agentEnds) {
    CompletableFuture<Void> closed =
        SessionEnd.of(client, session.handle(), session.resumeWindow(), loop, agentEnds);
    // The pool has noticed the end of the call stream itself.
    return session.isResumable() ? closed : CompletableFuture.completedFuture(null);
  }

  /** Gives the connections to the other servers back; nothing may be called after that. */
  void forget() {
    taken.forEach(clients::giveBack);
    taken.clear();
  }
}
