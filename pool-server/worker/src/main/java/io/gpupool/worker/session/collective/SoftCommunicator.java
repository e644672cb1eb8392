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
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A rank of a communicator, as the session's program and the pool see it. The session's thread adds
 * calls, the pool speaks in any thread, and a {@link RankThread} carries the calls out.
 */
final class SoftCommunicator implements Communicator, RankDirectory.Listener {
  private final ContextState context;

  private final LocalCommunicators locals;
  private final RankDirectory directory;
  private final Gpu gpu;
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

  /** The GPU of ranks. */
  interface Gpu {
    /** Stops a stream where a group is; returns a CUresult. */
    int close(long stream, StreamBarriers.Arrival arrival);

    /** Does work of a device on this thread, in the device's time. */
    void compute(int device, Runnable work);
  }

  private record Place(RankName name, int ranks, RankChannels channels) {}

  /**
   * A rank that has not joined any others.
   *
   * @param beginMillis how long the ranks wait for each other, as the communicator begins
   */
  SoftCommunicator(
      ContextState context,
      LocalCommunicators locals,
      RankDirectory directory,
      Gpu gpu,
      long beginMillis) {
    this.context = context;
    this.locals = locals;
    this.directory = directory;
    this.gpu = gpu;
    this.beginMillis = beginMillis;
  }

  @Override
  public ContextState context() {
    return context;
  }

  @Override
  public void join(RankName name, int ranks) {
    LocalCommunicators.Local local = locals.join(name, ranks);
    if (local == null) {
      refused("rank " + name.rank() + " of this communicator is in this process already");
      return;
    }
    Executor onGpu = work -> gpu.compute(context.device, work);
    RankChannels channels = new RankChannels(name, local, directory, onGpu);
    synchronized (this) {
      place = new Place(name, ranks, channels);
    }
    Rank rank = new Rank(name.rank(), ranks, channels, onGpu);
    // Before the thread begins, which leaves at once if there is a failure already.
    directory.join(name, ranks, null, this);
    synchronized (this) {
      thread = new RankThread(this, steps, rank, beginMillis).start("rank " + name.rank());
    }
  }

  /** Is none: of the split, this rank is in no part. */
  void joinNone() {
    steps.complete();
    steps.end();
  }

  @Override
  public State state() {
    // First: a failure is the result before its steps are over.
    long pending = steps.pending();
    int result = steps.result();
    boolean isKnown = result == NcclResult.SUCCESS;
    return new State(result, isKnown ? ranks() : 0, isKnown ? rank() : 0, pending);
  }

  @Override
  public String error() {
    return steps.error();
  }

  @Override
  public synchronized int ranks() {
    return place == null ? 0 : place.ranks();
  }

  @Override
  public synchronized int rank() {
    return place == null ? 0 : place.name().rank();
  }

  synchronized String id() {
    return place == null ? "" : place.name().communicator();
  }

  @Override
  public boolean isUsable() {
    boolean hasJoined;
    synchronized (this) {
      hasJoined = place != null;
    }
    return hasJoined && steps.isUsable();
  }

  @Override
  public int add(List<CollectiveCall> group, long stream) {
    GroupStep step = new GroupStep(group, steps);
    if (!steps.add(step)) {
      return isAborted ? CudaResult.SUCCESS : CudaResult.EXTERNAL_DEVICE;
    }
    int closed = gpu.close(stream, step::arrived);
    if (closed != 0) {
      fail(NcclResult.UNHANDLED_CUDA_ERROR, "its stream takes no work: CUDA error " + closed);
    }
    return closed;
  }

  @Override
  public Communicator split(int color, int key) {
    SoftCommunicator made = new SoftCommunicator(context, locals, directory, gpu, beginMillis);
    Split split = new Split(this, splits, color, key);
    splits++;
    boolean isAdded =
        steps.add(
            new ExchangeStep(
                rank -> split.exchange(rank, made),
                () -> made.refused("the communicator that is split has failed")));
    if (!isAdded) {
      made.refused("the communicator that is split has failed");
    }
    return made;
  }

  /** Ranks connect as they send. */
  @Override
  public void connect(List<Connection> connections) {}

  @Override
  public void end() {
    steps.end();
  }

  @Override
  public void abort(String reason) {
    isAborted = true;
    // First: one that merely ends leaves in order.
    fail(NcclResult.INVALID_USAGE, reason);
    end();
  }

  @Override
  public boolean isAlive() {
    Thread own = thread();
    return own != null && own.isAlive();
  }

  @Override
  public void awaitEnd(long limitMillis) {
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
  public void complete(byte @Nullable [] uniqueId) {
    if (uniqueId == null) {
      steps.complete();
    } else {
      refused("rank 0 is on an NVIDIA GPU, and this one on a software GPU");
    }
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
