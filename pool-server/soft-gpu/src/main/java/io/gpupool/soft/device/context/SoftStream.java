// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftPool;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.device.work.Copying;
import io.gpupool.soft.device.work.EmptyWork;
import io.gpupool.soft.device.work.HostTask;
import io.gpupool.soft.device.work.Scheduler;
import io.gpupool.soft.device.work.Transfer;
import io.gpupool.soft.device.work.ValueWait;
import io.gpupool.soft.device.work.Work;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.soft.memory.HostBuffer;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Operations that run one after the other. Any thread may submit; what two threads submit at once
 * runs in either order. Arguments are checked when an operation is submitted, faults come later and
 * are the context's. Every operation throws the context's fault, if it has one.
 */
public final class SoftStream {
  /** Flag: takes no notice of the legacy default stream. */
  public static final int NON_BLOCKING = 1;

  /** Up to this length a copy or fill runs on whatever thread finds it ready. */
  private static final long SHORT_BYTES = 128 << 10;

  private static final VarHandle NARROW = ValueLayout.JAVA_INT.varHandle();
  private static final VarHandle WIDE = ValueLayout.JAVA_LONG.varHandle();

  private final SoftContext context;
  private final Kind kind;
  private final int priority;
  private final long id;
  private final Scheduler scheduler;

  /** The last operation submitted; guarded by the scheduler's lock. */
  public @Nullable Work tail;

  /** How a stream relates to the legacy default stream. */
  enum Kind {
    LEGACY,
    BLOCKING,
    NON_BLOCKING
  }

  SoftStream(SoftContext context, Kind kind, int priority, long id) {
    this.context = context;
    this.kind = kind;
    this.priority = priority;
    this.id = id;
    scheduler = context.device().gpu().scheduler();
  }

  public SoftContext context() {
    return context;
  }

  /** CUstream_flags. */
  public int flags() {
    return kind == Kind.NON_BLOCKING ? NON_BLOCKING : 0;
  }

  public int priority() {
    return priority;
  }

  /** Unlike that of any other stream of this process. */
  public long id() {
    return id;
  }

  /**
   * Writes to device memory.
   *
   * @param source is read before this returns, or copied; so it may be used again at once
   * @throws GpuException INVALID_VALUE if the target is not within one allocation
   */
  public Completion write(long target, MemorySegment source) {
    context.requireUsable();
    long length = source.byteSize();
    if (length == 0) {
      return completion();
    }
    MemorySegment device = context.view(target, length);
    if (isIdle()) {
      Completion completion =
          submit(work(length, true, time -> Copying.copy(time, source, device)));
      if (!completion.isDone()) {
        // Another thread's operation came first; rare enough to wait for.
        awaitUninterruptibly(completion);
      }
      return completion;
    }
    HostBuffer staged = new HostBuffer(length);
    Copying.copy(DeviceTime.UNSHARED, source, staged.segment());
    return submit(stagedWork(staged, length, time -> Copying.copy(time, staged.segment(), device)));
  }

  /**
   * Reads device memory.
   *
   * @param reader gets the bytes when the stream reaches this, valid during the call; not called if
   *     the context has a fault by then
   * @throws GpuException INVALID_VALUE if the source is not within one allocation
   */
  public Completion read(long source, long lengthBytes, Consumer<MemorySegment> reader) {
    context.requireUsable();
    MemorySegment device = context.view(source, lengthBytes);
    return submit(work(lengthBytes, false, time -> reader.accept(device)));
  }

  /**
   * Writes a box to device memory or an array.
   *
   * @param source is read before this returns, or copied; so it may be used again at once
   */
  public Completion write(PitchedRegion target, PitchedRegion source) {
    context.requireUsable();
    long length = source.extent().lengthBytes();
    if (isIdle()) {
      Completion completion = submit(work(length, true, time -> source.copyTo(time, target)));
      if (!completion.isDone()) {
        awaitUninterruptibly(completion);
      }
      return completion;
    }
    HostBuffer staged = new HostBuffer(length);
    PitchedRegion copy = PitchedRegion.tight(staged.segment(), source.extent());
    source.copyTo(DeviceTime.UNSHARED, copy);
    return submit(stagedWork(staged, length, time -> copy.copyTo(time, target)));
  }

  /**
   * Copies a box: within device memory and arrays, or to the host.
   *
   * @param target stays there until the stream has got here
   */
  public Completion copy(PitchedRegion target, PitchedRegion source) {
    context.requireUsable();
    return submit(work(source.extent().lengthBytes(), false, time -> source.copyTo(time, target)));
  }

  /**
   * Makes the stream wait for a value in memory.
   *
   * @throws GpuException INVALID_VALUE unless {@code address} is aligned and in one allocation
   */
  public Completion waitValue(long address, ValueWait wait) {
    context.requireUsable();
    MemorySegment word = word(address, wait.wide());
    return submit(
        new Work(scheduler) {
          private boolean isReached() {
            return context.fault().isPresent() || wait.isReached(read(word));
          }

          @Override
          protected boolean start() {
            if (isReached()) {
              return true;
            }
            context.device().gpu().valueWaits().add(this::isReached, this);
            return false;
          }
        });
  }

  /** Writes a value; what came before in the stream is seen by whoever sees it. */
  public Completion writeValue(long address, long value, boolean wide) {
    context.requireUsable();
    MemorySegment word = word(address, wide);
    return submit(
        work(
            word.byteSize(),
            false,
            time -> {
              if (wide) {
                WIDE.setRelease(word, 0L, value);
              } else {
                NARROW.setRelease(word, 0L, (int) value);
              }
            }));
  }

  private MemorySegment word(long address, boolean wide) {
    int bytes = wide ? Long.BYTES : Integer.BYTES;
    if (address % bytes != 0) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          "0x" + Long.toHexString(address) + " is not aligned to " + bytes);
    }
    return context.view(address, bytes);
  }

  private static long read(MemorySegment word) {
    return word.byteSize() == Long.BYTES
        ? (long) WIDE.getAcquire(word, 0L)
        : Integer.toUnsignedLong((int) NARROW.getAcquire(word, 0L));
  }

  /** Copies within device memory, between devices too. */
  public Completion copy(long target, long source, long lengthBytes) {
    context.requireUsable();
    if (lengthBytes == 0) {
      return completion();
    }
    MemorySegment to = context.view(target, lengthBytes);
    MemorySegment from = context.view(source, lengthBytes);
    return submit(work(lengthBytes, false, time -> Copying.copy(time, from, to)));
  }

  /**
   * Fills rows of device memory with a value.
   *
   * @param pitchBytes from one row to the next; not used when there is one
   * @param elementBytes 1, 2 or 4
   * @param width elements a row
   */
  public Completion fill(
      long target, long pitchBytes, int value, int elementBytes, long width, long height) {
    context.requireUsable();
    if (target % elementBytes != 0 || width < 0 || height < 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "misaligned or negative memset");
    }
    if (width == 0 || height == 0) {
      return completion();
    }
    long rowBytes = multiply(width, elementBytes);
    if (height > 1 && (pitchBytes < rowBytes || pitchBytes % elementBytes != 0)) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "pitch " + pitchBytes + " for rows of " + rowBytes + " bytes");
    }
    long spanBytes = height == 1 ? rowBytes : multiply(height - 1, pitchBytes) + rowBytes;
    MemorySegment device = context.view(target, spanBytes);
    return submit(
        work(
            multiply(rowBytes, height),
            false,
            time -> {
              for (long row = 0; row < height; row++) {
                Copying.fill(time, device.asSlice(row * pitchBytes, rowBytes), value, elementBytes);
              }
            }));
  }

  /**
   * Has the host do something in this stream's order.
   *
   * @param evenAfterFault whether to start it with the context's fault, rather than not at all
   */
  public Completion callHost(HostTask task, boolean evenAfterFault) {
    requireNonNull(task, "task");
    context.requireUsable();
    return submit(new HostWork(context, task, evenAfterFault));
  }

  /** Notes in an event when the stream gets here; forgets the event's earlier record. */
  public Completion record(SoftEvent event) {
    context.requireUsable();
    if (event.context() != context) {
      throw new GpuException(
          CudaStatus.INVALID_HANDLE, "the event belongs to another context than the stream");
    }
    SoftEvent.Mark mark = event.newMark();
    event.record(mark);
    return submit(mark);
  }

  /** Makes what is submitted from now on wait for an event's record as it is now. */
  public void waitFor(SoftEvent event) {
    context.requireUsable();
    Work mark = event.lastMark();
    if (mark != null && !mark.isDone()) {
      submit(new EmptyWork(scheduler), mark);
    }
  }

  /**
   * Takes memory from a pool. It may be used in this stream at once, and elsewhere after
   * synchronising with it.
   */
  public long allocate(SoftPool pool, long bytes) {
    context.requireUsable();
    return pool.allocate(bytes);
  }

  /**
   * Frees memory when the stream gets here; the program has lost it at once.
   *
   * @throws GpuException INVALID_VALUE if no allocation of the program starts at {@code address}
   */
  public Completion free(long address) {
    context.requireUsable();
    return submit(context.freeing(address));
  }

  /** The end of all that has been submitted so far. */
  public Completion completion() {
    synchronized (scheduler.lock()) {
      if (kind != Kind.LEGACY) {
        return tail == null || tail.isDone() ? Completion.DONE : tail;
      }
    }
    return scheduler.join(context.order().tailsOf(this));
  }

  /** Whether an operation submitted now would start at once. */
  public boolean isIdle() {
    synchronized (scheduler.lock()) {
      return context.order().isReady(this);
    }
  }

  /** Ends the stream's use; what has been submitted still runs. */
  public void destroy() {
    if (kind == Kind.LEGACY) {
      throw new GpuException(CudaStatus.INVALID_HANDLE, "the default stream cannot be destroyed");
    }
    completion().whenDone(() -> context.order().forget(this));
  }

  Kind kind() {
    return kind;
  }

  /** Submits a work of this stream's context. */
  public Completion submit(Work work) {
    return submit(work, null);
  }

  private Work submit(Work work, @Nullable Work alsoAfter) {
    boolean ready;
    synchronized (scheduler.lock()) {
      scheduler.awaitRoom();
      context.order().place(this, work);
      scheduler.follow(work, alsoAfter);
      ready = scheduler.enqueue(work);
    }
    if (ready) {
      scheduler.begin(work);
    }
    return work;
  }

  /** Work with bytes that wait for it in memory of their own. */
  private Work stagedWork(HostBuffer staged, long lengthBytes, Transfer transfer) {
    scheduler.addQueuedBytes(lengthBytes);
    return new ContextWork(context) {
      @Override
      protected boolean run() {
        transfer(lengthBytes, transfer);
        release();
        return true;
      }

      @Override
      protected void skip() {
        release();
      }

      private void release() {
        staged.close();
        scheduler.addQueuedBytes(-lengthBytes);
      }

      @Override
      protected boolean isShort() {
        return lengthBytes <= SHORT_BYTES;
      }
    };
  }

  private Work work(long lengthBytes, boolean onThisThread, Transfer transfer) {
    return new ContextWork(context) {
      @Override
      protected boolean run() {
        transfer(lengthBytes, transfer);
        return true;
      }

      @Override
      protected boolean isShort() {
        return onThisThread || lengthBytes <= SHORT_BYTES;
      }
    };
  }

  private static long multiply(long one, long other) {
    try {
      return Math.multiplyExact(one, other);
    } catch (ArithmeticException e) {
      throw new GpuException(CudaStatus.INVALID_VALUE, one + " x " + other + " bytes");
    }
  }

  private static void awaitUninterruptibly(Completion completion) {
    boolean interrupted = false;
    while (!completion.isDone()) {
      try {
        completion.await();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
