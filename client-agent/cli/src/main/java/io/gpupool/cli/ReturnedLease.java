// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.client.PoolClient;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.Queued;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;

/**
 * A lease that goes back to the pool when this process is told to end, from its request on: while
 * it waits, at the moment of its grant, and when it is held.
 */
public final class ReturnedLease implements AutoCloseable {
  private final PoolClient client;
  private final CompletableFuture<HeldLease> asked;
  private final CompletableFuture<HeldLease> granted = new CompletableFuture<>();
  private final Thread atExit = new Thread(this::giveBack, "lease-return");

  /** Asks for it. */
  public ReturnedLease(PoolClient client, LeaseRequest request, Consumer<Queued> onQueued) {
    this.client = client;
    asked = client.requestLease(request, onQueued);
    asked.whenComplete((lease, failure) -> {
      // Who waits for a request that is withdrawn at the end of the process has nothing to tell.
      if (failure == null) {
        granted.complete(lease);
      } else if (!asked.isCancelled()) {
        granted.completeExceptionally(failure);
      }
    });
    Runtime.getRuntime().addShutdownHook(atExit);
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
    if (asked.cancel(false)) {
      // Lets the withdrawal out.
      client.close();
    } else if (!asked.isCompletedExceptionally() && !asked.join().ended().isDone()) {
      asked.join().release().join();
    }
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
