// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseRequest;
import io.netty.channel.unix.PeerCredentials;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The lease that a program uses, one that it names or one of its own, and the connection to its
 * pool. Runs on the program's event loop.
 */
public final class ProgramLease {
  private final PoolClients clients;
  private final PoolAddress address;
  private final PoolClient pool;
  private final Holder holder;
  private final ImplicitLeases.@Nullable Reference own;
  private final CompletableFuture<AttachRequest.LeaseHandle> handle;

  /**
   * Asks for a lease, unless the program has one; one that an agent held for it is held again.
   *
   * @throws IllegalArgumentException if a value has the wrong form
   */
  public ProgramLease(
      AttachRequest request, PoolIdentity identity, PeerCredentials peer, AgentServices agent) {
    clients = agent.clients();
    address = identity.pool();
    pool = clients.take(address, identity.credentials());
    holder = request.holder(peer);
    AttachRequest.LeaseHandle ticket = identity.ticket();
    if (ticket != null) {
      own = null;
      handle = CompletableFuture.completedFuture(ticket);
      return;
    }
    try {
      LeaseRequest wish = request.wish().orElse(agent.options().wish()).request(holder);
      AttachRequest.FormerLease former = request.ownLease();
      own =
          former == null
              ? agent.leases().take(peer.pid(), pool, wish)
              : agent.leases().takeBack(peer.pid(), pool, wish, former);
    } catch (RuntimeException e) {
      clients.giveBack(pool);
      throw e;
    }
    handle = own.lease().thenApply(AttachRequest.LeaseHandle::of);
  }

  /** The pool as it was named. */
  public PoolAddress address() {
    return address;
  }

  public PoolClient pool() {
    return pool;
  }

  /** The program as the pool is told of it. */
  public Holder holder() {
    return holder;
  }

  /** Completes when the lease is granted. */
  public CompletableFuture<AttachRequest.LeaseHandle> handle() {
    return handle;
  }

  /** Returns whether the agent holds the lease for the program. */
  public boolean isOwn() {
    return own != null;
  }

  /**
   * Ends the program's part in a lease of its own, and its sessions.
   *
   * @param endSessions ends them on a lease that goes on; else its end is theirs
   */
  public CompletableFuture<Void> end(Supplier<CompletableFuture<Void>> endSessions) {
    boolean leaseEnds = own != null && own.isLast();
    CompletableFuture<Void> released = release();
    return leaseEnds ? released : endSessions.get();
  }

  /** Ends the program's part in a lease of its own; completes when the pool has confirmed that. */
  public CompletableFuture<Void> release() {
    return own == null ? CompletableFuture.completedFuture(null) : own.release();
  }

  /** Ends the program's part in a lease of its own, which is left to the program's next agent. */
  public void releaseHold() {
    if (own != null) {
      own.releaseHold();
    }
  }

  /** Gives the connection back; nothing may be called after that. */
  public void forget() {
    clients.giveBack(pool);
  }
}
