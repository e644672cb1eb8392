// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.stream;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.Answers;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;

/**
 * Calls in which a driver may wait for its streams. A stream may wait for a host function, whose
 * end is a frame that is yet to be read: then the call is made in another thread, and the session's
 * thread looks through what comes in meanwhile for such frames alone.
 */
public final class BlockingCalls {
  private static final long LOOK_MICROS = 50;
  private static final long ROOM_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final Backend backend;
  private final CurrentCall call;
  private final Answers answers;
  private final Waits waits;
  private final ExecutorService threads;
  private final HostCallbacks callbacks;
  private final Runnable readAhead;

  /** The time at which it last waited for room in vain; 0 if the last wait found room. */
  private long gaveUpAt;

  /**
   * Makes the caller.
   *
   * @param readAhead receives what is there and sees to the host functions that have ended
   */
  public BlockingCalls(
      Backend backend,
      CurrentCall call,
      Answers answers,
      Waits waits,
      ExecutorService threads,
      HostCallbacks callbacks,
      Runnable readAhead) {
    this.backend = backend;
    this.call = call;
    this.answers = answers;
    this.waits = waits;
    this.threads = threads;
    this.callbacks = callbacks;
    this.readAhead = readAhead;
  }

  public int call(IntSupplier blocking) {
    if (!callbacks.anyOutstanding()) {
      return blocking.getAsInt();
    }
    long context = call.context().handle;
    int[] result = {CudaResult.UNKNOWN};
    CountDownLatch done = new CountDownLatch(1);
    answers.flush();
    waits.handOver();
    threads.execute(() -> {
      try {
        backend.cuCtxSetCurrent(context);
        result[0] = blocking.getAsInt();
      } finally {
        done.countDown();
      }
    });
    while (!await(done)) {
      readAhead.run();
    }
    return result[0];
  }

  /**
   * The backend has room for no more work: while host functions are what it waits for, looks for
   * their end among what comes in. If that does not come, the backend takes a bounded amount more,
   * and then refuses: the end may lie behind what the program sends before it.
   */
  public void awaitRoom() {
    long begin = System.nanoTime();
    boolean hopeful = begin - gaveUpAt > ROOM_NANOS || gaveUpAt == 0;
    if (!hopeful) {
      return;
    }
    answers.flush();
    waits.handOver();
    while (!backend.hasRoom()) {
      if (System.nanoTime() - begin > ROOM_NANOS) {
        gaveUpAt = System.nanoTime();
        return;
      }
      LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(LOOK_MICROS));
      readAhead.run();
    }
    gaveUpAt = 0;
  }

  private static boolean await(CountDownLatch done) {
    try {
      return done.await(LOOK_MICROS, TimeUnit.MICROSECONDS);
    } catch (InterruptedException e) {
      throw new IllegalStateException("the session's thread was interrupted", e);
    }
  }
}
