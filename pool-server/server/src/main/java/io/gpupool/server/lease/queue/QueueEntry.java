// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.runtime.Timers;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.StateException;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** An entry of this server's queue: a request with its client. Owned by the control thread. */
public final class QueueEntry {
  /** Clients this far ahead are told of each step, the others less often. */
  static final int FRONT = 32;

  private static final long TELL_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final QueuedRequest request;
  private final LeaseSpec spec;
  private final QueueListener client;
  private final @Nullable RequestIdentity identity;
  private final PartsTaker taker;
  private boolean recorded;
  private Timers.Cancellable limit = () -> {};
  private QueuePosition position;
  private long toldAtNanos;

  /**
   * Makes an entry without a place yet.
   *
   * @param request as it was first made
   * @param spec as it was made last
   * @param taker takes the parts when it is its turn
   */
  QueueEntry(
      QueuedRequest request,
      LeaseSpec spec,
      QueueListener client,
      @Nullable RequestIdentity identity,
      PartsTaker taker) {
    this.request = request;
    this.spec = spec;
    this.client = client;
    this.identity = identity;
    this.taker = taker;
    position = new QueuePosition(request, 0, false, RejectionReason.NotScheduledYet::new);
  }

  public String id() {
    return request.id();
  }

  QueuedRequest request() {
    return request;
  }

  LeaseSpec spec() {
    return spec;
  }

  QueueListener client() {
    return client;
  }

  /** Takes the parts that it gets. */
  void take(List<Part> parts) throws RefusedException, StateException, IOException {
    taker.take(this, parts);
  }

  Optional<RequestIdentity> identity() {
    return Optional.ofNullable(identity);
  }

  QueuePosition position() {
    return position;
  }

  long waitedNanos(long nowNanos) {
    return nowNanos - request.sinceNanos();
  }

  /** The key under which all servers see that the request waits here; empty: they do not. */
  Optional<String> recordedKey() {
    return recorded ? Optional.ofNullable(identity).map(RequestIdentity::key) : Optional.empty();
  }

  void setRecorded() {
    recorded = true;
  }

  void limit(Timers.Cancellable timer) {
    limit = timer;
  }

  void cancelLimit() {
    limit.cancel();
  }

  /** Takes a position. Returns whether its client is to be told. */
  boolean moveTo(QueuePosition next, long nowNanos) {
    boolean isNews = position.place() != next.place() && spec.waitMillis() > 0;
    // Far behind, every step is no news.
    boolean isTold =
        isNews
            && (next.place() <= FRONT || toldAtNanos == 0 || nowNanos - toldAtNanos > TELL_NANOS);
    if (isTold) {
      toldAtNanos = nowNanos;
    }
    position = next;
    return isTold;
  }

  void tellPosition() {
    client.queued(position.place(), position.reason());
  }
}
