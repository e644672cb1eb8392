// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

import io.gpupool.soft.exec.runtime.BlockRuntime;
import io.gpupool.soft.exec.runtime.DeviceRuntime;
import io.gpupool.soft.exec.runtime.RuntimeCallException;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * A grid with what its threads launched. It is done in two steps: its blocks and its launches, then
 * its tail launches, one after the other. Guarded by the lock of its {@link LaunchTree}.
 */
final class GridNode implements DeviceRuntime {
  private final LaunchTree tree;
  private final @Nullable Task task;
  private final int depth;

  /** Its own blocks, as one, and launches that are not done. */
  private int live = 1;

  /** Blocks that wait for their launches. */
  private int waitingBlocks;

  private int tails;
  private final Task body = Task.body(this);
  private Task lastTail = body;
  private boolean bodyOver;
  private boolean over;
  private final Map<Long, LaunchStream> streams = new HashMap<>();
  private final Map<Long, LaunchEvent> events = new HashMap<>();

  /**
   * A grid.
   *
   * @param task its place among its parent's launches; null for the grid that the program launched
   */
  GridNode(LaunchTree tree, @Nullable Task task, int depth) {
    this.tree = tree;
    this.task = task;
    this.depth = depth;
  }

  @Override
  public BlockRuntime open() {
    return new BlockLaunches(tree, this);
  }

  int depth() {
    return depth;
  }

  /** Whether it and all that it launched is done. */
  boolean isOver() {
    return over;
  }

  Map<Long, LaunchEvent> events() {
    return events;
  }

  Map<Long, LaunchStream> streams() {
    return streams;
  }

  LaunchStream stream(long handle) {
    LaunchStream stream = streams.get(handle);
    if (stream == null) {
      throw unknown("stream", handle);
    }
    return stream;
  }

  LaunchEvent event(long handle) {
    LaunchEvent event = events.get(handle);
    if (event == null) {
      throw unknown("event", handle);
    }
    return event;
  }

  static RuntimeCallException unknown(String kind, long handle) {
    return new RuntimeCallException(
        RuntimeCallException.INVALID_RESOURCE_HANDLE,
        "the grid has no " + kind + " 0x" + Long.toHexString(handle));
  }

  /** Puts a tail launch behind the grid's others. */
  void addTail(Task launch) {
    launch.follow(lastTail);
    lastTail = launch;
    tails++;
  }

  void add() {
    live++;
  }

  /** One of its tasks, or the last of its blocks, has ended. */
  void ended(Task.Kind kind) {
    switch (kind) {
      case BODY -> {}
      case TAIL_LAUNCH -> tails--;
      case LAUNCH, MARK -> live--;
    }
  }

  void blockWaits() {
    if (waitingBlocks++ == 0) {
      tree.waits();
    }
  }

  void blockGoesOn() {
    if (--waitingBlocks == 0) {
      tree.goesOn();
    }
  }

  void blocksEnded() {
    live--;
  }

  /** Adds the tasks that end now, since all that they consist of has ended. */
  void collect(Queue<Task> ended) {
    if (live > 0) {
      return;
    }
    if (!bodyOver) {
      bodyOver = true;
      ended.add(body);
    } else if (body.isDone() && tails == 0 && !over) {
      over = true;
      if (task != null) {
        ended.add(task);
      }
    }
  }
}
