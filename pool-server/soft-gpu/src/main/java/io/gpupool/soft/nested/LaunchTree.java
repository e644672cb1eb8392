// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

import io.gpupool.soft.exec.GridExecution;
import io.gpupool.soft.exec.runtime.RuntimeCallException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A grid that the program launched, with all that its kernels launch from the device, at any depth:
 * it is over when all of these are. A fault of one ends them all. Any thread may call it.
 */
public final class LaunchTree {
  /** How deep launches nest below the program's; a card's limit. */
  static final int MAX_DEPTH = 24;

  /** Grids that run at once, as on a card; launches beyond that are pending. */
  private static final int MAX_RUNNING = 128;

  /** Streams and events that there may be at once. */
  private static final int MAX_HANDLES = 1 << 16;

  private static final long FIRST_HANDLE = 0x1000;

  private final ChildKernels kernels;
  private final LaunchPool pool;
  private final Consumer<@Nullable Failure> whenOver;
  private final GridNode root = new GridNode(this, null, 0);
  private final Object lock = new Object();
  private final Deque<Task> ready = new ArrayDeque<>();
  private final Set<GridExecution> executions = new HashSet<>();

  /** Parameter buffers that no launch has used yet, with what they are for. */
  private final Map<Long, Reservation> reserved = new HashMap<>();

  /** All parameter buffers of launches that have not begun. */
  private final Set<Long> buffers = new HashSet<>();

  private int pending;
  private int handles;
  private long nextHandle = FIRST_HANDLE;

  /** Grids that have begun and not ended. */
  private int running;

  /** Those of them with a block that waits for its launches, in place of which others may run. */
  private int waiting;

  private boolean starting;
  private boolean over;
  private @Nullable Failure failure;

  /**
   * A fault.
   *
   * @param kernel the name of the kernel that ran
   */
  public record Failure(String kernel, Throwable cause) {}

  /**
   * A parameter buffer.
   *
   * @param child the launch; null if it is not known yet
   */
  private record Reservation(@Nullable Child child, long bytes) {}

  /**
   * Makes a tree.
   *
   * @param whenOver called once, by any thread, with the first fault if there was one
   */
  public LaunchTree(ChildKernels kernels, LaunchPool pool, Consumer<@Nullable Failure> whenOver) {
    this.kernels = kernels;
    this.pool = pool;
    this.whenOver = whenOver;
  }

  /** Starts the grid that the program launched. */
  public void start(Child child, MemorySegment params) {
    synchronized (lock) {
      running++;
    }
    start(root, child, params);
    startReady();
    endIfOver();
  }

  ChildKernels kernels() {
    return kernels;
  }

  /** Does something that concerns the order of tasks, and starts what that lets begin. */
  <T> T ordered(Supplier<T> action) {
    T result;
    synchronized (lock) {
      result = action.get();
    }
    startReady();
    return result;
  }

  // What follows up to the starting of grids is called with the lock held.

  /** Device memory for a launch's parameters; it counts as pending from now on. */
  long reserve(GridNode owner, @Nullable Child child, long alignment, long bytes) {
    requireDepth(owner);
    long buffer = pool.take(alignment, bytes);
    pending++;
    buffers.add(buffer);
    reserved.put(buffer, new Reservation(child, bytes));
    return buffer;
  }

  private static void requireDepth(GridNode owner) {
    if (owner.depth() >= MAX_DEPTH) {
      throw new RuntimeCallException(
          RuntimeCallException.LAUNCH_MAX_DEPTH_EXCEEDED,
          "launches nest " + MAX_DEPTH + " deep at most");
    }
  }

  /** The launch that a buffer was made for. */
  Child reserved(long buffer) {
    Child child = reservation(buffer).child();
    if (child == null) {
      throw new RuntimeCallException(
          RuntimeCallException.INVALID_VALUE, "the buffer was made for no kernel");
    }
    return child;
  }

  private Reservation reservation(long buffer) {
    Reservation reservation = reserved.get(buffer);
    if (reservation == null) {
      throw new RuntimeCallException(
          RuntimeCallException.INVALID_VALUE,
          "0x" + Long.toHexString(buffer) + " is no parameter buffer");
    }
    return reservation;
  }

  /**
   * The parameters in a buffer, which is used up by that; as many as the launch takes.
   *
   * @param owner the grid that launches, which may be another than the one that made the buffer
   */
  MemorySegment claim(GridNode owner, long buffer, Child child) {
    requireDepth(owner);
    Reservation reservation = reservation(buffer);
    if (reservation.bytes() < child.paramBytes()) {
      throw new RuntimeCallException(
          RuntimeCallException.INVALID_VALUE,
          "kernel "
              + child.kernel().name()
              + " takes "
              + child.paramBytes()
              + " bytes of parameters, not "
              + reservation.bytes());
    }
    reserved.remove(buffer);
    return pool.view(buffer, child.paramBytes());
  }

  /** Counts a task that comes without a parameter buffer as pending. */
  void takePending(GridNode owner) {
    requireDepth(owner);
    pool.take();
    pending++;
  }

  long takeHandle() {
    if (handles >= MAX_HANDLES) {
      throw new RuntimeCallException(
          RuntimeCallException.MEMORY_ALLOCATION,
          "there are " + MAX_HANDLES + " streams and events already");
    }
    handles++;
    return nextHandle++;
  }

  void releaseHandles(int count) {
    handles -= count;
  }

  /** A task whose predecessors are all known. */
  void submit(Task task) {
    if (task.isReady()) {
      ready.add(task);
    }
  }

  /** A grid has begun to wait for its launches. */
  void waits() {
    waiting++;
  }

  void goesOn() {
    waiting--;
  }

  private void releasePending() {
    pending--;
    pool.release(1);
  }

  /** A launch has begun, which has its parameters elsewhere by now. */
  private void free(long buffer) {
    if (buffers.remove(buffer)) {
      pool.free(buffer);
    }
  }

  /** Follows up the end of something in a grid. */
  private void settle(GridNode grid) {
    Queue<Task> ended = new ArrayDeque<>();
    grid.collect(ended);
    for (Task task = ended.poll(); task != null; task = ended.poll()) {
      for (Task next : task.end()) {
        if (next.kind() == Task.Kind.MARK) {
          releasePending();
          ended.add(next);
        } else {
          ready.add(next);
        }
      }
      GridNode owner = task.owner();
      owner.ended(task.kind());
      owner.collect(ended);
      if (owner.isOver()) {
        releaseHandles(owner.streams().size() + owner.events().size());
        owner.streams().clear();
        owner.events().clear();
      }
    }
  }

  private @Nullable Task nextReady() {
    boolean may = failure == null && running - waiting < MAX_RUNNING;
    Task task = may ? ready.poll() : null;
    if (task != null) {
      running++;
      releasePending();
    }
    starting = task != null;
    return task;
  }

  // Grids start and end without the lock.

  /** Starts what is ready; one thread at a time, so that grids that end at once nest no calls. */
  private void startReady() {
    Task task;
    synchronized (lock) {
      if (starting) {
        return;
      }
      task = nextReady();
    }
    while (task != null) {
      start(new GridNode(this, task, task.owner().depth() + 1), task.child(), task.params());
      synchronized (lock) {
        free(task.buffer());
        task = nextReady();
      }
    }
  }

  private void start(GridNode grid, Child child, MemorySegment params) {
    GridExecution execution;
    try {
      execution = kernels.start(child, params, grid);
    } catch (RuntimeException | Error e) {
      ended(grid, null, child, e);
      return;
    }
    boolean cancelled;
    synchronized (lock) {
      executions.add(execution);
      cancelled = failure != null;
    }
    if (cancelled) {
      execution.cancel();
    }
    execution.completion().whenComplete((_, problem) -> ended(grid, execution, child, problem));
  }

  private void ended(
      GridNode grid, @Nullable GridExecution execution, Child child, @Nullable Throwable problem) {
    List<GridExecution> cancelled = List.of();
    if (execution != null) {
      kernels.ended(execution);
    }
    synchronized (lock) {
      running--;
      executions.remove(execution);
      if (problem == null) {
        grid.blocksEnded();
        settle(grid);
      } else if (failure == null) {
        failure = new Failure(child.kernel().name(), problem);
        cancelled = List.copyOf(executions);
      }
    }
    cancelled.forEach(GridExecution::cancel);
    startReady();
    endIfOver();
  }

  private void endIfOver() {
    synchronized (lock) {
      if (over || running > 0 || failure == null && !root.isOver()) {
        return;
      }
      over = true;
      buffers.forEach(pool::free);
      buffers.clear();
      pool.release(pending);
      pending = 0;
    }
    whenOver.accept(failure);
  }
}
