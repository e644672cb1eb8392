// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.client.PoolClient;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.Queued;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;

/**
 * A lease that goes back to the pool when this process is told to end, from its request on: while
 * it waits, at the moment of its grant, and when it is held.
 */
public final class ReturnedLease implements AutoCloseable {
  private final PoolClient client;
  private final CompletableFuture<HeldLease> granted = new CompletableFuture<>();
  private final Thread atExit = new Thread(this::giveBack, "lease-return");

  /** The request; cancelled before it is made, it is never made. */
  @GuardedBy("this")
  private CompletableFuture<HeldLease> asked = new CompletableFuture<>();

  /** Asks for it, unless this process is told to end before. */
  public ReturnedLease(PoolClient client, LeaseRequest request, Consumer<Queued> onQueued) {
    this.client = client;
    try {
      // Before the request, since the pool may grant it before the next line is reached.
      Runtime.getRuntime().addShutdownHook(atExit);
    } catch (IllegalStateException e) {
      return;
    }
    ask(request, onQueued);
  }

  private synchronized void ask(LeaseRequest request, Consumer<Queued> onQueued) {
    if (asked.isCancelled()) {
      return;
    }
    asked = client.requestLease(request, onQueued);
    asked.whenComplete((lease, failure) -> {
      // A request that is withdrawn at the end of the process tells its caller nothing.
      if (failure == null) {
        granted.complete(lease);
      } else if (!(failure instanceof CancellationException)) {
        granted.completeExceptionally(failure);
      }
    });
  }

  /**
   * Waits for its grant.
   *
   * @throws CompletionException if it is not granted
   */
  public HeldLease await() {
    return granted.join();
  }

  private void giveBack() {
    CompletableFuture<HeldLease> ending = cancel();
    if (ending.isCancelled()) {
      // Awaits the answer to the withdrawal.
      client.close();
    } else if (!ending.isCompletedExceptionally() && !ending.join().ended().isDone()) {
      ending.join().release().join();
    }
  }

  private synchronized CompletableFuture<HeldLease> cancel() {
    boolean ignored = asked.cancel(false);
    return asked;
  }

  /** Gives it back now. */
  @Override
  public void close() {
    giveBack();
    try {
      Runtime.getRuntime().removeShutdownHook(atExit);
    } catch (IllegalStateException e) {
      // The process is ending, and the hook finds nothing to give back.
    }
  }
}
