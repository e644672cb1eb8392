// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

import static java.util.Objects.requireNonNull;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A step in the order of one grid's launches; guarded by the lock of its {@link LaunchTree}. */
final class Task {
  enum Kind {
    /** The grid's own blocks and all launches but its tail launches. */
    BODY,
    LAUNCH,
    TAIL_LAUNCH,
    /** A place that orders others. */
    MARK
  }

  private final GridNode owner;
  private final Kind kind;
  private final @Nullable Child child;
  private final @Nullable MemorySegment params;
  private final long buffer;
  private final @Nullable BlockLaunches origin;
  private int unmet;
  private List<Task> successors = List.of();
  private boolean done;

  private Task(
      GridNode owner,
      Kind kind,
      @Nullable Child child,
      @Nullable MemorySegment params,
      long buffer,
      @Nullable BlockLaunches origin) {
    this.owner = owner;
    this.kind = kind;
    this.child = child;
    this.params = params;
    this.buffer = buffer;
    this.origin = origin;
  }

  static Task body(GridNode owner) {
    return new Task(owner, Kind.BODY, null, null, 0, null);
  }

  static Task mark(GridNode owner, BlockLaunches origin) {
    return new Task(owner, Kind.MARK, null, null, 0, origin);
  }

  /**
   * A launch.
   *
   * @param buffer the device memory that {@code params} lie in; 0 if that is none of the pool's
   * @param origin the block that launches
   */
  static Task launch(
      GridNode owner,
      boolean tail,
      Child child,
      MemorySegment params,
      long buffer,
      BlockLaunches origin) {
    Kind kind = tail ? Kind.TAIL_LAUNCH : Kind.LAUNCH;
    return new Task(owner, kind, child, params, buffer, origin);
  }

  GridNode owner() {
    return owner;
  }

  Kind kind() {
    return kind;
  }

  /** The kernel of a launch. */
  Child child() {
    return requireNonNull(child, "not a launch");
  }

  /** The parameters of a launch. */
  MemorySegment params() {
    return requireNonNull(params, "not a launch");
  }

  long buffer() {
    return buffer;
  }

  boolean isDone() {
    return done;
  }

  boolean isReady() {
    return unmet == 0;
  }

  /** Lets it wait for another one; null stands for nothing. */
  void follow(@Nullable Task before) {
    if (before != null && !before.done) {
      if (before.successors.isEmpty()) {
        before.successors = new ArrayList<>(1);
      }
      before.successors.add(this);
      unmet++;
    }
  }

  /** Ends it; returns what need not wait any more. */
  List<Task> end() {
    done = true;
    if (origin != null) {
      origin.ended();
    }
    List<Task> freed = successors.stream().filter(next -> --next.unmet == 0).toList();
    successors = List.of();
    return freed;
  }
}
