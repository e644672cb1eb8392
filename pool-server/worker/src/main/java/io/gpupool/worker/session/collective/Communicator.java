// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.collective.CollectiveCall;
import io.gpupool.worker.collective.Rank;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.stream.StreamBarriers;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A rank of a communicator, as the session's program and the pool see it. The session's thread adds
 * calls, the pool speaks in any thread, and a {@link RankThread} carries the calls out.
 */
final class Communicator implements RankDirectory.Listener {
  /** The context that the rank belongs to. */
  final ContextState context;

  private final LocalCommunicators locals;
  private final RankDirectory directory;
  private final long beginMillis;
  private final RankSteps steps = new RankSteps();

  /** The place that it has taken among others; null: it has joined none. */
  @GuardedBy("this")
  private @Nullable Place place;

  /** Carries out its steps; null: it has joined none. */
  @GuardedBy("this")
  private @Nullable Thread thread;

  /** Whether the program has given it up, and wants to hear of no error. */
  private volatile boolean isAborted;

  private int splits;

  private record Place(RankName name, int ranks, RankChannels channels) {}

  /**
   * A rank that has not joined any others.
   *
   * @param beginMillis how long the ranks wait for each other, as the communicator begins
   */
  Communicator(
      ContextState context, LocalCommunicators locals, RankDirectory directory, long beginMillis) {
    this.context = context;
    this.locals = locals;
    this.directory = directory;
    this.beginMillis = beginMillis;
  }

  /** Joins the other ranks. */
  void join(RankName name, int ranks) {
    LocalCommunicators.Local local = locals.join(name, ranks);
    if (local == null) {
      refused("rank " + name.rank() + " of this communicator is in this process already");
      return;
    }
    RankChannels channels = new RankChannels(name, local, directory);
    synchronized (this) {
      place = new Place(name, ranks, channels);
    }
    Rank rank = new Rank(name.rank(), ranks, channels);
    // Before the thread begins, which leaves at once if there is a failure already.
    directory.join(name, ranks, this);
    synchronized (this) {
      thread = new RankThread(this, steps, rank, beginMillis).start("rank " + name.rank());
    }
  }

  /** Is none: of the split, this rank is in no part. */
  void joinNone() {
    steps.complete();
    steps.end();
  }

  /** What the program is told. */
  record State(int result, int ranks, int rank, long pending) {}

  State state() {
    // First: a failure is the result before its steps are over.
    long pending = steps.pending();
    int result = steps.result();
    boolean isKnown = result == NcclResult.SUCCESS;
    return new State(result, isKnown ? ranks() : 0, isKnown ? rank() : 0, pending);
  }

  String error() {
    return steps.error();
  }

  synchronized int ranks() {
    return place == null ? 0 : place.ranks();
  }

  synchronized int rank() {
    return place == null ? 0 : place.name().rank();
  }

  synchronized String id() {
    return place == null ? "" : place.name().communicator();
  }

  /** Returns whether calls can be added. */
  boolean isUsable() {
    boolean hasJoined;
    synchronized (this) {
      hasJoined = place != null;
    }
    return hasJoined && steps.isUsable();
  }

  /** The way in which a stream is stopped where a group is. */
  interface Gate {
    /** Stops it; returns a CUresult. */
    int close(StreamBarriers.Arrival arrival);
  }

  /**
   * Adds a group of calls in a stream.
   *
   * @return CUresult; EXTERNAL_DEVICE if the communicator has failed, and the stream goes on
   */
  int add(List<CollectiveCall> group, Gate gate) {
    GroupStep step = new GroupStep(group, steps);
    if (!steps.add(step)) {
      return isAborted ? CudaResult.SUCCESS : CudaResult.EXTERNAL_DEVICE;
    }
    int closed = gate.close(step::arrived);
    if (closed != 0) {
      fail(NcclResult.UNHANDLED_CUDA_ERROR, "its stream takes no work: CUDA error " + closed);
    }
    return closed;
  }

  /** Returns the number of the next split, the same in all ranks. */
  int nextSplit() {
    return splits++;
  }

  /** Has something exchanged among the ranks, in the order of the calls. */
  void exchange(ExchangeStep.Exchange exchange, Runnable failed) {
    if (!steps.add(new ExchangeStep(exchange, failed))) {
      failed.run();
    }
  }

  /** Ends it once its calls are complete. */
  void end() {
    steps.end();
  }

  /** Ends it at once; its streams go on, and the other ranks are told. */
  void abort(String reason) {
    isAborted = true;
    // First: one that merely ends leaves in order.
    fail(NcclResult.INVALID_USAGE, reason);
    end();
  }

  /** Returns whether its thread may still touch memory of the session. */
  boolean isAlive() {
    Thread own = thread();
    return own != null && own.isAlive();
  }

  /** Waits until its thread touches no memory of the session any more, after {@link #abort}. */
  void awaitEnd(long limitMillis) {
    Thread own = thread();
    try {
      if (own != null && limitMillis > 0) {
        own.join(limitMillis);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized @Nullable Thread thread() {
    return thread;
  }

  // From the pool

  @Override
  public void complete() {
    steps.complete();
  }

  @Override
  public void refused(String reason) {
    fail(NcclResult.INVALID_USAGE, reason);
  }

  @Override
  public void lost(int rank, String reason) {
    fail(NcclResult.REMOTE_ERROR, "rank " + rank + " is lost: " + reason);
  }

  @Override
  public void connected(int to, int socket) {
    place().channels().connected(to, socket);
  }

  @Override
  public void unconnected(int to, String reason) {
    place().channels().unconnected(to, reason);
  }

  @Override
  public void connection(int from, int socket) {
    place().channels().connection(from, socket);
  }

  private synchronized Place place() {
    return Objects.requireNonNull(place);
  }

  // From the rank's thread

  /** A step is done, or never will be. */
  void over(Step step, boolean isDone) {
    if (!isDone && !isAborted) {
      // What the program finds in its memory is not what it asked for.
      context.report(CudaResult.EXTERNAL_DEVICE);
    }
    steps.over(step);
  }

  /** Fails, unless it has failed already. */
  void fail(int failure, String reason) {
    Optional<List<Step>> rest = steps.fail(failure, reason);
    if (rest.isEmpty()) {
      return;
    }
    Place taken;
    synchronized (this) {
      taken = place;
    }
    if (taken != null) {
      taken.channels().close(reason);
    }
    rest.get().forEach(step -> over(step, false));
  }

  /** Leaves the other ranks, in order unless it has failed. */
  void leave() {
    Place left = place();
    left.channels().close("the communicator has ended");
    locals.leave(left.name(), left.ranks());
    directory.leave(left.name(), steps.result() != NcclResult.SUCCESS);
  }
}
