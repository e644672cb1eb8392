// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import io.gpupool.client.lease.LeaseEventStream;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Refused;
import io.gpupool.rest.call.ControlPlaneClient;
import io.gpupool.rest.call.ProblemMapper;
import io.gpupool.rest.http.ProblemException;
import io.grpc.Status;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The state of a lease request. The control plane's thread updates it, and others wait for updates.
 */
final class TrackedLeaseRequest {
  final String body;
  final long sinceNanos = System.nanoTime();
  private final LeaseEventStream events = new LeaseEventStream(new Answers());
  private final CompletableFuture<Void> answered = new CompletableFuture<>();
  private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
  private volatile Queued queued = Queued.getDefaultInstance();
  private volatile Runnable cancelCall = () -> {};

  /** The end of a request. */
  private sealed interface Outcome {
    record Granted(Lease lease) implements Outcome {}

    record Failed(ProblemException problem) implements Outcome {}
  }

  TrackedLeaseRequest(String body) {
    this.body = body;
  }

  /** Takes the call whose events {@link #onEvent} is given. */
  void start(CompletableFuture<LeaseEvent> call) {
    call.whenComplete((last, failure) ->
        events.onClose(failure == null ? Status.OK : Status.fromThrowable(failure)));
    cancelCall = () -> call.cancel(false);
    if (outcome.isDone()) {
      cancelCall.run();
    }
  }

  void onEvent(LeaseEvent event) {
    events.onEvent(event);
  }

  boolean isWaiting() {
    return !outcome.isDone();
  }

  boolean isGranted() {
    return outcome.isDone() && outcome.join() instanceof Outcome.Granted;
  }

  Queued queued() {
    return queued;
  }

  /** The lease, if it is granted within some time; empty while the request waits. */
  Optional<Lease> await(long millis) throws ProblemException {
    try {
      answered.get(ControlPlaneClient.CHANGE_MILLIS, TimeUnit.MILLISECONDS);
      return switch (outcome.get(millis, TimeUnit.MILLISECONDS)) {
        case Outcome.Granted granted -> Optional.of(granted.lease());
        case Outcome.Failed failed -> throw failed.problem();
      };
    } catch (TimeoutException e) {
      if (!answered.isDone()) {
        throw new ProblemException(503, ControlPlaneClient.NOT_KNOWN_YET);
      }
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ProblemException(503, "the server is stopping");
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  private void finish(Outcome end) {
    outcome.complete(end);
    answered.complete(null);
  }

  /** The answers of the control plane. */
  private final class Answers implements LeaseEventStream.Listener {
    @Override
    public void queued(Queued waiting) {
      queued = waiting;
      answered.complete(null);
    }

    @Override
    public void granted(Lease lease) {
      finish(new Outcome.Granted(lease));
      // From now on it is kept by being renewed.
      cancelCall.run();
    }

    @Override
    public void refused(Refused refusal) {
      finish(new Outcome.Failed(ProblemMapper.problem(refusal)));
    }

    @Override
    public void ended(String reason) {
      finish(new Outcome.Failed(new ProblemException(409, "the lease has ended: " + reason)));
    }

    @Override
    public void broken(Status status) {
      finish(new Outcome.Failed(ProblemMapper.problem(status)));
    }
  }
}
