// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Refused;
import io.grpc.StatusRuntimeException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** State of a lease request. The control plane's thread updates it, and others wait for updates. */
final class TrackedLeaseRequest {
  final String body;
  final long sinceNanos = System.nanoTime();
  private final CompletableFuture<Object> known = new CompletableFuture<>();
  private final CompletableFuture<Object> end = new CompletableFuture<>();
  private volatile Queued queued = Queued.getDefaultInstance();
  private volatile Runnable cancelCall = () -> {};

  TrackedLeaseRequest(String body) {
    this.body = body;
  }

  void start(CompletableFuture<LeaseEvent> stream) {
    stream.whenComplete((last, failure) -> {
      if (failure != null) {
        end.completeExceptionally(failure);
        known.complete(failure);
      }
    });
    cancelCall = () -> stream.cancel(false);
    if (end.isDone()) {
      cancelCall.run();
    }
  }

  void onEvent(LeaseEvent event) {
    switch (event.getEventCase()) {
      case QUEUED -> queued = event.getQueued();
      case GRANTED -> {
        end.complete(event.getGranted());
        // From now on it is kept by being renewed.
        cancelCall.run();
      }
      case REFUSED -> end.complete(event.getRefused());
      default -> {}
    }
    known.complete(event);
  }

  boolean isWaiting() {
    return !end.isDone();
  }

  boolean isGranted() {
    return end.isDone() && !end.isCompletedExceptionally() && end.join() instanceof Lease;
  }

  Queued queued() {
    return queued;
  }

  /** What came of it within some time, and at least a first answer; empty: it waits. */
  Optional<Lease> await(long millis) throws ProblemException {
    try {
      known.get(Pool.CHANGE_MILLIS, TimeUnit.MILLISECONDS);
      if (end.get(millis, TimeUnit.MILLISECONDS) instanceof Lease lease) {
        return Optional.of(lease);
      }
      throw Refusals.problem((Refused) end.join());
    } catch (TimeoutException e) {
      if (!known.isDone()) {
        throw new ProblemException(503, Pool.NOT_KNOWN_YET);
      }
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ProblemException(503, "the server is stopping");
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StatusRuntimeException refusal) {
        throw Refusals.problem(refusal.getStatus());
      }
      throw new IllegalStateException(e.getCause());
    }
  }
}
