// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.nccl.NcclException;
import io.gpupool.worker.collective.CollectiveCall;
import io.gpupool.worker.session.core.ContextState;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A rank of a communicator of NVIDIA's NCCL. The session's thread submits calls, which go into
 * their streams at once; whatever waits for other ranks is done by a thread of the rank. The pool
 * speaks in any thread.
 */
final class NcclCommunicator implements Communicator, RankDirectory.Listener {
  /** How long calls that need not have failed may take when another rank is lost. */
  private static final long LOSS_MILLIS = 1000;

  private static final long LOOK_MILLIS = 10;

  private final ContextState context;
  private final Backend backend;
  private final RankDirectory directory;
  private final NcclTasks tasks = new NcclTasks();
  private final StreamMarks marks;
  private final CountDownLatch over = new CountDownLatch(1);

  /** Whether a thread carries out its tasks, which ends with {@link #over}. */
  private volatile boolean isStarted;

  /** Whether the program has given it up, and wants to hear of no error. */
  private volatile boolean isAborted;

  @GuardedBy("this")
  private @Nullable RankName name;

  @GuardedBy("this")
  private int ranks;

  @GuardedBy("this")
  private @Nullable NcclRank rank;

  private int splits;

  NcclCommunicator(ContextState context, Backend backend, RankDirectory directory) {
    this.context = context;
    this.backend = backend;
    this.directory = directory;
    marks = new StreamMarks(backend, context);
  }

  @Override
  public ContextState context() {
    return context;
  }

  @Override
  public void join(RankName joined, int count) {
    take(joined, count);
    if (context.primary) {
      start(() -> begin(joined, count));
    } else {
      refused("NCCL works in a GPU's primary context alone");
    }
  }

  private synchronized void take(RankName taken, int count) {
    name = taken;
    ranks = count;
  }

  private void start(NcclTasks.Task first) {
    isStarted = true;
    NcclThread.start(this, tasks, first, "rank " + rank());
  }

  private void begin(RankName joined, int count) throws NcclException {
    byte[] own = joined.rank() == 0 ? backend.nccl().uniqueId() : null;
    directory.join(joined, count, own, this);
    if (tasks.awaitComplete()) {
      byte[] id = tasks.uniqueId();
      if (id == null) {
        throw new NcclException(
            NcclResult.INVALID_USAGE, "rank 0 is on a software GPU, and this one on an NVIDIA GPU");
      }
      hold(NcclRank.join(backend, context, count, id, joined.rank()));
    }
  }

  /** The ranks are together. */
  private void hold(NcclRank held) {
    boolean isHeld;
    synchronized (this) {
      rank = held;
      isHeld = tasks.begun();
    }
    if (!isHeld) {
      held.abort();
    }
  }

  @Override
  public Communicator split(int color, int key) {
    NcclCommunicator made = new NcclCommunicator(context, backend, directory);
    int number = splits;
    splits++;
    tasks.add(
        () -> {
          NcclRank part = rankOrFail().split(color, key);
          tasks.done();
          made.beginPart(part, CommunicatorId.ofSplit(id(), number, color));
        },
        () -> made.refused("the communicator that is split has failed"));
    return made;
  }

  /** Joins as a part that NCCL has made already, so that the pool tells of losses. */
  private void beginPart(@Nullable NcclRank part, String id) throws NcclException {
    if (part == null) {
      boolean ignored = tasks.begun();
      tasks.end();
      return;
    }
    RankName joined = new RankName(id, part.rank());
    take(joined, part.ranks());
    int count = part.ranks();
    start(() -> {
      directory.join(joined, count, null, this);
      boolean ignored = tasks.awaitComplete();
      hold(part);
    });
  }

  @Override
  public void connect(List<Connection> connections) {
    tasks.add(
        () -> {
          rankOrFail().connect(connections);
          tasks.done();
        },
        () -> {});
  }

  private synchronized NcclRank rankOrFail() throws NcclException {
    if (rank == null) {
      throw new NcclException(NcclResult.INVALID_USAGE, "the communicator has not begun");
    }
    return rank;
  }

  private synchronized String id() {
    return name == null ? "" : name.communicator();
  }

  @Override
  public State state() {
    long pending = marks.pending();
    int result = tasks.result();
    boolean isKnown = result == NcclResult.SUCCESS;
    int told = isKnown && tasks.isBusy() ? NcclResult.IN_PROGRESS : result;
    return new State(told, isKnown ? ranks() : 0, isKnown ? rank() : 0, pending);
  }

  @Override
  public String error() {
    return tasks.error();
  }

  @Override
  public synchronized int ranks() {
    return ranks;
  }

  @Override
  public synchronized int rank() {
    return name == null ? 0 : name.rank();
  }

  @Override
  public boolean isUsable() {
    return !id().isEmpty() && tasks.isUsable();
  }

  @Override
  public int add(List<CollectiveCall> group, long stream) {
    if (tasks.result() != NcclResult.SUCCESS) {
      return isAborted ? CudaResult.SUCCESS : CudaResult.EXTERNAL_DEVICE;
    }
    try {
      if (tasks.isBusy()) {
        throw new NcclException(
            NcclResult.INVALID_USAGE, "a call while the communicator connects or splits");
      }
      rankOrFail().submit(group, stream);
    } catch (NcclException e) {
      fail(e.result(), String.valueOf(e.getMessage()));
      return isAborted ? CudaResult.SUCCESS : CudaResult.EXTERNAL_DEVICE;
    }
    int marked = marks.set(stream);
    if (marked != 0) {
      fail(NcclResult.UNHANDLED_CUDA_ERROR, "its stream has failed with CUDA error " + marked);
    }
    return marked;
  }

  @Override
  public void end() {
    tasks.end();
  }

  @Override
  public void abort(String reason) {
    isAborted = true;
    fail(NcclResult.INVALID_USAGE, reason);
    end();
  }

  @Override
  public boolean isAlive() {
    return isStarted && over.getCount() > 0;
  }

  @Override
  public void awaitEnd(long limitMillis) {
    try {
      boolean ignored = !isStarted || over.await(limitMillis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    marks.forget();
  }

  // From the pool

  @Override
  public void complete(byte @Nullable [] uniqueId) {
    tasks.complete(uniqueId);
  }

  @Override
  public void refused(String reason) {
    fail(NcclResult.INVALID_USAGE, reason);
  }

  /** Calls that the lost rank has still taken part in come to their end first. */
  @Override
  public void lost(int lost, String reason) {
    aside(() -> {
      long endNanos = System.nanoTime() + LOSS_MILLIS * 1_000_000;
      while (marks.pending() > 0 && System.nanoTime() < endNanos && tasks.pause(LOOK_MILLIS)) {}
      fail(NcclResult.REMOTE_ERROR, "rank " + lost + " is lost: " + reason);
    });
  }

  @Override
  public void connected(int to, int socket) {
    throw new IllegalStateException("a rank of NCCL has asked for no connection");
  }

  @Override
  public void unconnected(int to, String reason) {
    throw new IllegalStateException("a rank of NCCL has asked for no connection");
  }

  @Override
  public void connection(int from, int socket) {
    throw new IllegalStateException("a rank of NCCL has asked for no connection");
  }

  private void aside(Runnable action) {
    NcclThread.start(
        () -> {
          enter();
          action.run();
        },
        "end of rank " + rank());
  }

  /** Has the calling thread use the rank's context; it may be gone, of which others tell. */
  void enter() {
    int ignored = backend.cuCtxSetCurrent(context.handle);
  }

  // From the rank's thread

  /** Looks for an error that NCCL has met meanwhile. */
  void look() {
    NcclRank looked;
    synchronized (this) {
      looked = rank;
    }
    int error = looked == null ? 0 : looked.asyncError();
    if (error != 0 && error != NcclResult.IN_PROGRESS && looked != null) {
      fail(error, looked.errorText(error));
    }
  }

  boolean isComplete() {
    return marks.pending() == 0;
  }

  /** Fails, unless it has failed already. */
  void fail(int failure, String reason) {
    boolean isCut = marks.pending() > 0;
    List<Runnable> rest = tasks.fail(failure, reason);
    if (rest == null) {
      return;
    }
    if (isCut && !isAborted) {
      // What the program finds in its memory is not what it asked for.
      context.report(CudaResult.EXTERNAL_DEVICE);
    }
    rest.forEach(Runnable::run);
    aside(this::cut);
  }

  /** Ends NCCL's part at once; may take a while. */
  private void cut() {
    NcclRank failed;
    RankName left;
    synchronized (this) {
      failed = rank;
      left = name;
    }
    if (left != null) {
      directory.leave(left, true);
    }
    if (failed != null) {
      failed.abort();
    }
    over.countDown();
  }

  /** Ends it in order, if it has not failed. */
  void leave() {
    NcclRank ended;
    RankName left;
    synchronized (this) {
      ended = rank;
      left = Objects.requireNonNull(name);
    }
    if (tasks.result() != NcclResult.SUCCESS || ended == null) {
      return;
    }
    try {
      ended.end();
    } catch (NcclException e) {
      System.err.println("gpupool worker: the end of a communicator: " + e.getMessage());
    }
    directory.leave(left, false);
    over.countDown();
  }
}
