// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.collective.ChannelException;
import io.gpupool.worker.collective.CollectiveCall;
import io.gpupool.worker.collective.Rank;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.stream.StreamBarriers;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * A rank of a communicator. A thread of its own carries out the calls in the order in which the
 * program made them, each once its stream has come to it. The session's thread adds calls; streams
 * and the pool speak in any thread.
 */
final class Communicator implements RankDirectory.Listener {
  /** How long the ranks of a communicator wait for each other, as it begins. */
  private static final long BEGIN_MILLIS = 300_000;

  /** The context that the rank belongs to. */
  final ContextState context;

  private final LocalCommunicators locals;
  private final RankDirectory directory;

  @GuardedBy("this")
  private int result = NcclResult.IN_PROGRESS;

  @GuardedBy("this")
  private String error = "";

  @GuardedBy("this")
  private int ranks;

  @GuardedBy("this")
  private @Nullable RankName name;

  @GuardedBy("this")
  private @Nullable RankChannels channels;

  @GuardedBy("this")
  private final Queue<Step> steps = new ArrayDeque<>();

  /** Steps that are not complete, those in the queue among them. */
  @GuardedBy("this")
  private long pending;

  @GuardedBy("this")
  private boolean isEnding;

  /** Whether the program has given it up, and wants to hear of no error. */
  private volatile boolean isAborted;

  private int splits;

  /** A step of the rank's thread. */
  private interface Step {
    /** Returns whether it can be carried out now; those after it wait for that. */
    default boolean isReady() {
      return true;
    }

    void run(Rank rank) throws ChannelException;

    /** It was carried out, or never will be. */
    default void over() {}
  }

  /** An exchange among all ranks, by the rank's thread. */
  interface Exchange {
    void run(Rank rank) throws ChannelException;
  }

  /** The calls of one group in a stream. */
  private final class Work implements Step {
    private final List<CollectiveCall> group;

    @GuardedBy("Communicator.this")
    private @Nullable Runnable open;

    @GuardedBy("Communicator.this")
    private int status;

    @GuardedBy("Communicator.this")
    private boolean isOver;

    Work(List<CollectiveCall> group) {
      this.group = group;
    }

    /** The stream has come to the group, and goes on when it is told to. */
    void arrived(int streamStatus, Runnable whenDone) {
      boolean passes;
      synchronized (Communicator.this) {
        status = streamStatus;
        open = whenDone;
        passes = isOver;
        Communicator.this.notifyAll();
      }
      if (passes) {
        whenDone.run();
      }
    }

    @Override
    public boolean isReady() {
      synchronized (Communicator.this) {
        return open != null;
      }
    }

    @Override
    public void run(Rank rank) throws ChannelException {
      int failed;
      synchronized (Communicator.this) {
        failed = status;
      }
      if (failed != 0) {
        fail(
            NcclResult.UNHANDLED_CUDA_ERROR,
            "the stream of a call has failed with CUDA error " + failed);
        throw new ChannelException("its stream has failed");
      }
      rank.run(group);
    }

    @Override
    public void over() {
      Runnable action;
      synchronized (Communicator.this) {
        action = isOver ? null : open;
        isOver = true;
      }
      if (action != null) {
        action.run();
      }
    }
  }

  Communicator(ContextState context, LocalCommunicators locals, RankDirectory directory) {
    this.context = context;
    this.locals = locals;
    this.directory = directory;
  }

  /** Joins the other ranks. */
  void join(RankName joined, int count) {
    LocalCommunicators.Local local = locals.join(joined, count);
    if (local == null) {
      refused("rank " + joined.rank() + " of this communicator is in this process already");
      return;
    }
    synchronized (this) {
      name = joined;
      ranks = count;
      channels = new RankChannels(joined, local, directory);
    }
    Thread thread = new Thread(this::serve, "rank " + joined.rank());
    thread.setDaemon(true);
    thread.start();
    directory.join(joined, count, this);
  }

  /** Is none: of the split, this rank is in no part. */
  synchronized void joinNone() {
    result = NcclResult.SUCCESS;
    isEnding = true;
  }

  /** What the program is told. */
  record State(int result, int ranks, int rank, long pending) {}

  synchronized State state() {
    boolean isKnown = result == NcclResult.SUCCESS;
    return new State(result, isKnown ? ranks : 0, isKnown ? rank() : 0, pending);
  }

  synchronized String error() {
    return error;
  }

  synchronized int ranks() {
    return ranks;
  }

  synchronized int rank() {
    return name == null ? 0 : name.rank();
  }

  synchronized String id() {
    return name == null ? "" : name.communicator();
  }

  /** Returns whether calls can be added. */
  synchronized boolean isUsable() {
    return name != null && !isEnding && result != NcclResult.IN_PROGRESS;
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
    Work work = new Work(group);
    synchronized (this) {
      if (result != NcclResult.SUCCESS) {
        return isAborted ? CudaResult.SUCCESS : CudaResult.EXTERNAL_DEVICE;
      }
      steps.add(work);
      pending++;
    }
    int closed = gate.close(work::arrived);
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
  void exchange(Exchange exchange, Runnable failed) {
    boolean added;
    synchronized (this) {
      added = result == NcclResult.SUCCESS && !isEnding;
      if (added) {
        pending++;
        steps.add(
            new Step() {
              private boolean isDone;

              @Override
              public void run(Rank rank) throws ChannelException {
                exchange.run(rank);
                isDone = true;
              }

              @Override
              public void over() {
                if (!isDone) {
                  failed.run();
                }
              }
            });
        notifyAll();
      }
    }
    if (!added) {
      failed.run();
    }
  }

  /** Ends it once its calls are complete. */
  synchronized void end() {
    isEnding = true;
    notifyAll();
  }

  /** Ends it at once; its streams go on, and the other ranks are told. */
  void abort(String reason) {
    isAborted = true;
    // First: one that merely ends leaves in order.
    fail(NcclResult.INVALID_USAGE, reason);
    end();
  }

  // From the pool

  @Override
  public synchronized void complete() {
    if (result == NcclResult.IN_PROGRESS) {
      result = NcclResult.SUCCESS;
      notifyAll();
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
    channels().connected(to, socket);
  }

  @Override
  public void unconnected(int to, String reason) {
    channels().unconnected(to, reason);
  }

  @Override
  public void connection(int from, int socket) {
    channels().connection(from, socket);
  }

  private synchronized RankChannels channels() {
    return Objects.requireNonNull(channels);
  }

  // The rank's thread

  private void serve() {
    RankName own;
    Rank rank;
    synchronized (this) {
      own = Objects.requireNonNull(name);
      rank = new Rank(own.rank(), ranks, Objects.requireNonNull(channels));
    }
    awaitComplete();
    for (Step step = next(); step != null; step = next()) {
      boolean isDone = true;
      try {
        step.run(rank);
      } catch (ChannelException e) {
        isDone = false;
        fail(NcclResult.REMOTE_ERROR, String.valueOf(e.getMessage()));
      }
      over(step, isDone);
    }
    boolean isLost;
    synchronized (this) {
      isLost = result != NcclResult.SUCCESS;
    }
    channels().close("the communicator has ended");
    locals.leave(own, ranks());
    directory.leave(own, isLost);
  }

  private void over(Step step, boolean isDone) {
    if (!isDone && !isAborted) {
      // What the program finds in its memory is not what it asked for.
      context.report(CudaResult.EXTERNAL_DEVICE);
    }
    step.over();
    synchronized (this) {
      pending--;
    }
  }

  private void awaitComplete() {
    long endNanos = System.nanoTime() + BEGIN_MILLIS * 1_000_000;
    boolean isLate = false;
    synchronized (this) {
      while (result == NcclResult.IN_PROGRESS && !isLate) {
        long leftMillis = (endNanos - System.nanoTime()) / 1_000_000;
        isLate = leftMillis <= 0;
        if (!isLate) {
          pause(leftMillis);
        }
      }
    }
    if (isLate) {
      fail(
          NcclResult.SYSTEM_ERROR,
          "not all ranks came within "
              + BEGIN_MILLIS / 1000
              + " s; is one of them on another pool,"
              + " or of another tenant?");
    }
  }

  /** Returns the next step when it is ready; null: there is none any more. */
  private synchronized @Nullable Step next() {
    while (true) {
      Step step = steps.peek();
      boolean isFailed = result != NcclResult.SUCCESS;
      if (isFailed || step == null && isEnding) {
        return null;
      }
      if (step != null && step.isReady()) {
        return steps.remove();
      }
      pause(0);
    }
  }

  /** Fails, unless it has failed already. */
  private void fail(int failure, String reason) {
    List<Step> rest;
    RankChannels open;
    synchronized (this) {
      if (result != NcclResult.SUCCESS && result != NcclResult.IN_PROGRESS) {
        return;
      }
      result = failure;
      error = reason;
      rest = List.copyOf(steps);
      steps.clear();
      open = channels;
      notifyAll();
    }
    if (open != null) {
      open.close(reason);
    }
    rest.forEach(step -> over(step, false));
  }

  @GuardedBy("this")
  private void pause(long millis) {
    try {
      wait(millis);
    } catch (InterruptedException e) {
      throw new IllegalStateException("a rank's thread was interrupted", e);
    }
  }
}
