// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

import io.gpupool.soft.exec.runtime.BlockRuntime;
import io.gpupool.soft.exec.runtime.DeviceQueries;
import io.gpupool.soft.exec.runtime.RuntimeCallException;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Launches of one block: its default stream, and one for each of its threads that uses one. Guarded
 * by the lock of its {@link LaunchTree}.
 */
final class BlockLaunches implements BlockRuntime {
  private static final long DEFAULT = 0;
  private static final long LEGACY = 1;
  private static final long PER_THREAD = 2;
  private static final long TAIL_LAUNCH = 3;
  private static final long FIRE_AND_FORGET = 4;

  /** cudaStreamNonBlocking, which streams of kernels must be. */
  private static final int NON_BLOCKING = 1;

  /** cudaEventDisableTiming, which events of kernels must be made with. */
  private static final int DISABLE_TIMING = 2;

  private final LaunchTree tree;
  private final GridNode grid;
  private final LaunchStream stream = new LaunchStream();
  private final Map<Integer, LaunchStream> threadStreams = new HashMap<>();
  private int unfinished;

  /** Whether a thread was seen to wait for the unfinished ones. */
  private boolean waiting;

  BlockLaunches(LaunchTree tree, GridNode grid) {
    this.tree = tree;
    this.grid = grid;
  }

  @Override
  public DeviceQueries queries() {
    return tree.kernels().queries();
  }

  @Override
  public long parameterBuffer(long alignment, long bytes) {
    return tree.ordered(() -> tree.reserve(grid, null, alignment, bytes));
  }

  @Override
  public long parameterBuffer(ChildLaunch launch) {
    Child child = tree.kernels().check(launch);
    return tree.ordered(() -> tree.reserve(grid, child, 0, child.paramBytes()));
  }

  @Override
  public void launch(int thread, long buffer, long target) {
    run(() -> {
      Child child = tree.reserved(buffer);
      requireStream(target);
      submit(thread, target, child, tree.claim(grid, buffer, child), buffer);
    });
  }

  @Override
  public void launch(int thread, ChildLaunch launch, long buffer, long target) {
    Child child = tree.kernels().check(launch);
    run(() -> {
      requireStream(target);
      if (buffer == 0) {
        submitPrepared(thread, target, child, MemorySegment.ofArray(new byte[child.paramBytes()]));
      } else {
        submit(thread, target, child, tree.claim(grid, buffer, child), buffer);
      }
    });
  }

  @Override
  public void copy(int thread, Box to, Box from, long target) {
    transfer(thread, to, target, () -> tree.kernels().copy(to, from));
  }

  @Override
  public void fill(int thread, Box to, int value, long target) {
    transfer(thread, to, target, () -> tree.kernels().fill(to, value));
  }

  private void transfer(int thread, Box to, long target, Supplier<ChildKernels.Prepared> transfer) {
    if (to.widthBytes() == 0 || to.rows() == 0 || to.slices() == 0) {
      return;
    }
    ChildKernels.Prepared prepared = transfer.get();
    run(() -> {
      requireStream(target);
      submitPrepared(thread, target, prepared.child(), prepared.params());
    });
  }

  private void run(Runnable action) {
    tree.ordered(() -> {
      action.run();
      return 0;
    });
  }

  private void submitPrepared(int thread, long target, Child child, MemorySegment params) {
    tree.takePending(grid);
    submit(thread, target, child, params, 0);
  }

  private void submit(int thread, long target, Child child, MemorySegment params, long buffer) {
    boolean tail = target == TAIL_LAUNCH;
    Task task = Task.launch(grid, tail, child, params, buffer, this);
    unfinished++;
    if (tail) {
      grid.addTail(task);
    } else {
      grid.add();
      if (target != FIRE_AND_FORGET) {
        LaunchStream chosen = stream(thread, target);
        task.follow(chosen.last());
        chosen.last(task);
      }
    }
    tree.submit(task);
  }

  private void requireStream(long handle) {
    if (handle < DEFAULT || handle > FIRE_AND_FORGET) {
      grid.stream(handle);
    }
  }

  private LaunchStream stream(int thread, long handle) {
    if (handle == PER_THREAD) {
      return threadStreams.computeIfAbsent(thread, _ -> new LaunchStream());
    }
    return handle == DEFAULT || handle == LEGACY ? stream : grid.stream(handle);
  }

  @Override
  public long createStream(int flags) {
    if (flags != NON_BLOCKING) {
      throw invalid("streams of kernels are made with cudaStreamNonBlocking");
    }
    return tree.ordered(() -> {
      long handle = tree.takeHandle();
      grid.streams().put(handle, new LaunchStream());
      return handle;
    });
  }

  @Override
  public void destroyStream(long handle) {
    run(() -> {
      if (grid.streams().remove(handle) == null) {
        throw GridNode.unknown("stream", handle);
      }
      tree.releaseHandles(1);
    });
  }

  @Override
  public long createEvent(int flags) {
    if (flags != DISABLE_TIMING) {
      throw invalid("events of kernels are made with cudaEventDisableTiming");
    }
    return tree.ordered(() -> {
      long handle = tree.takeHandle();
      grid.events().put(handle, new LaunchEvent());
      return handle;
    });
  }

  @Override
  public void destroyEvent(long handle) {
    run(() -> {
      if (grid.events().remove(handle) == null) {
        throw GridNode.unknown("event", handle);
      }
      tree.releaseHandles(1);
    });
  }

  @Override
  public void record(int thread, long event, long target) {
    run(() -> grid.event(event).record(ordering(thread, target).last()));
  }

  @Override
  public void await(int thread, long target, long event) {
    run(() -> {
      Task recorded = grid.event(event).recorded();
      LaunchStream waiting = ordering(thread, target);
      if (recorded == null || recorded.isDone() || recorded == waiting.last()) {
        return;
      }
      tree.takePending(grid);
      Task mark = Task.mark(grid, this);
      unfinished++;
      grid.add();
      mark.follow(waiting.last());
      mark.follow(recorded);
      waiting.last(mark);
    });
  }

  /** A stream whose tasks follow each other. */
  private LaunchStream ordering(int thread, long target) {
    if (target == TAIL_LAUNCH || target == FIRE_AND_FORGET) {
      throw invalid("events order no tail launches, nor those that are fired and forgotten");
    }
    return stream(thread, target);
  }

  private static RuntimeCallException invalid(String message) {
    return new RuntimeCallException(RuntimeCallException.INVALID_VALUE, message);
  }

  @Override
  public boolean launchesDone() {
    return tree.ordered(() -> {
      if (unfinished > 0 && !waiting) {
        waiting = true;
        grid.blockWaits();
      }
      return unfinished == 0;
    });
  }

  /** One of its tasks has ended; with the lock held. */
  void ended() {
    unfinished--;
    if (unfinished == 0 && waiting) {
      waiting = false;
      grid.blockGoesOn();
    }
  }
}
