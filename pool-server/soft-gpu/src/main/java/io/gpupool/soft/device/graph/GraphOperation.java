// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.graph;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftCondition;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.module.SoftFunction;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.device.work.Copying;
import io.gpupool.soft.device.work.Work;
import io.gpupool.soft.exec.launch.DeviceTime;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The operation of a graph node, the same in every launch. */
public sealed interface GraphOperation {
  /**
   * The work of one launch; empty if there is none. Throws what is wrong with it now, as the
   * operation of a stream would.
   */
  Optional<Work> work();

  /** Throws what is wrong with it before its first launch, as far as that can be told. */
  default void check() {}

  /** What has to be done before it that is no node of the graph; null for nothing. */
  default @Nullable Work awaited() {
    return null;
  }

  /** Only a place that edges meet in. */
  record Nothing() implements GraphOperation {
    @Override
    public Optional<Work> work() {
      return Optional.empty();
    }
  }

  /**
   * A kernel launch.
   *
   * @param params the parameter block; belongs to this
   */
  record Kernel(SoftFunction function, LaunchShape shape, byte[] params) implements GraphOperation {
    @Override
    public void check() {
      work();
    }

    @Override
    public Optional<Work> work() {
      function.context().requireUsable();
      return function.work(shape, MemorySegment.ofArray(params));
    }
  }

  /** A side of a copy: where its first byte is, and how far rows and slices lie apart. */
  record Side(long address, long pitchBytes, long sliceBytes) {
    long offset(long row, long slice) {
      return slice * sliceBytes + row * pitchBytes;
    }
  }

  /** A copy of a box of linear device memory. */
  record Copy(
      SoftContext context, Side target, Side source, long widthBytes, long height, long depth)
      implements GraphOperation {
    @Override
    public Optional<Work> work() {
      context.requireUsable();
      if (widthBytes <= 0 || height <= 0 || depth <= 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "a copy of nothing");
      }
      MemorySegment to = view(target);
      MemorySegment from = view(source);
      return Optional.of(
          new MemoryWork(context, widthBytes * height * depth, time -> copy(time, from, to)));
    }

    private MemorySegment view(Side side) {
      try {
        long last =
            Math.addExact(
                Math.multiplyExact(depth - 1, side.sliceBytes),
                Math.multiplyExact(height - 1, side.pitchBytes));
        return context.view(side.address, Math.addExact(last, widthBytes));
      } catch (ArithmeticException e) {
        throw new GpuException(
            CudaStatus.INVALID_VALUE, widthBytes + " x " + height + " x " + depth + " bytes");
      }
    }

    private void copy(DeviceTime time, MemorySegment from, MemorySegment to) {
      for (long slice = 0; slice < depth; slice++) {
        for (long row = 0; row < height; row++) {
          Copying.copy(
              time,
              from.asSlice(source.offset(row, slice), widthBytes),
              to.asSlice(target.offset(row, slice), widthBytes));
        }
      }
    }
  }

  /**
   * A fill of rows.
   *
   * @param pitchBytes from one row to the next; not used when there is one
   * @param elementBytes 1, 2 or 4
   * @param width elements a row
   */
  record Fill(
      SoftContext context,
      long target,
      long pitchBytes,
      int value,
      int elementBytes,
      long width,
      long height)
      implements GraphOperation {
    @Override
    public Optional<Work> work() {
      context.requireUsable();
      boolean known = elementBytes == 1 || elementBytes == 2 || elementBytes == 4;
      if (!known || target % elementBytes != 0 || width <= 0 || height <= 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "misaligned or empty memset");
      }
      long rowBytes;
      long spanBytes;
      try {
        rowBytes = Math.multiplyExact(width, elementBytes);
        spanBytes = Math.addExact(Math.multiplyExact(height - 1, pitchBytes), rowBytes);
      } catch (ArithmeticException e) {
        throw new GpuException(CudaStatus.INVALID_VALUE, width + " x " + height + " elements");
      }
      if (height > 1 && pitchBytes < rowBytes) {
        throw new GpuException(
            CudaStatus.INVALID_VALUE,
            "pitch " + pitchBytes + " for rows of " + rowBytes + " bytes");
      }
      MemorySegment device = context.view(target, spanBytes);
      return Optional.of(
          new MemoryWork(context, rowBytes * height, time -> fill(time, device, rowBytes)));
    }

    private void fill(DeviceTime time, MemorySegment device, long rowBytes) {
      for (long row = 0; row < height; row++) {
        Copying.fill(time, device.asSlice(row * pitchBytes, rowBytes), value, elementBytes);
      }
    }
  }

  /** A record of an event. */
  record Mark(SoftEvent event) implements GraphOperation {
    @Override
    public Optional<Work> work() {
      SoftEvent.Mark mark = event.newMark();
      event.record(mark);
      return Optional.of(mark);
    }
  }

  /** A wait for the record that an event has when the graph is launched. */
  record Await(SoftEvent event) implements GraphOperation {
    @Override
    public Optional<Work> work() {
      return Optional.empty();
    }

    @Override
    public @Nullable Work awaited() {
      return event.lastMark();
    }
  }

  /** What the value of a condition means. */
  enum Choice {
    /** The first body for any value but 0, and the second, if there is one, for 0. */
    IF,
    /** The one body again and again until the value is 0. */
    WHILE,
    /** The body of that number, if there is one. */
    SWITCH;

    public int maxBodies() {
      return switch (this) {
        case IF -> 2;
        case WHILE -> 1;
        case SWITCH -> Integer.MAX_VALUE;
      };
    }

    boolean repeats() {
      return this == WHILE;
    }

    /** The place of the body that is to run; -1 for none. */
    int body(int value, int count) {
      int chosen =
          switch (this) {
            case IF -> value != 0 ? 0 : 1;
            case WHILE -> value != 0 ? 0 : -1;
            case SWITCH -> value;
          };
      return chosen < count && chosen >= 0 ? chosen : -1;
    }
  }

  /** Other graphs, as a value says when all before is done. It is for a run to make its work. */
  record Conditional(SoftCondition condition, Choice kind, List<SoftGraph> bodies)
      implements GraphOperation {
    @Override
    public Optional<Work> work() {
      throw new IllegalStateException("a conditional node has no work apart from a run");
    }
  }
}
