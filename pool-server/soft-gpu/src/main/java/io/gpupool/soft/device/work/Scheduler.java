// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The scheduler of the works of all devices of the process, in the order of their dependencies. Any
 * thread may submit and finish.
 */
public final class Scheduler {
  /*
   * Streams, events and default-stream rules are all edges of one graph. A work keeps links to its
   * successors only, so what is done is garbage as soon as no stream or event names it.
   *
   * A short work that is ready when it is submitted runs on the submitting thread, and one that
   * becomes ready runs on the thread that ended its last predecessor: no hop between threads. What
   * may take long goes to the copy threads. Works that end while they start are followed up in a
   * loop, never by recursion.
   *
   * Submitting blocks when too much is queued, so that a program cannot fill the process's memory
   * with launches. It does not block while a host function runs: what ends that function may have to
   * be submitted by the very thread that would be blocked. Then up to twice as much is queued, and
   * what is beyond that fails.
   */
  public static final int COPY_THREADS = 2;

  private static final int MAX_QUEUED_WORKS = 1 << 16;
  private static final long MAX_QUEUED_BYTES = 256L << 20;
  private static final int OVERDRAFT = 2;
  private static final long IDLE_THREAD_SECONDS = 10;

  private final Object lock = new Object();
  private final ThreadPoolExecutor copyThreads;
  private int queuedWorks;
  private long queuedBytes;
  private int hostFunctionsRunning;

  /** Whether as much is queued as may be; written with the lock held. */
  private volatile boolean full;

  /** Works with device memory that have been let begin and are not done. */
  private int touching;

  /** Whether such works are held back; those that would have begun. */
  private boolean held;

  private final List<Work> heldBack = new ArrayList<>();

  public Scheduler() {
    AtomicInteger count = new AtomicInteger();
    copyThreads =
        new ThreadPoolExecutor(
            COPY_THREADS,
            COPY_THREADS,
            IDLE_THREAD_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> {
              Thread thread = new Thread(task, "soft-copy-" + count.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            },
            // After close nothing starts any more; what is queued is dropped with its devices.
            new ThreadPoolExecutor.DiscardPolicy());
    copyThreads.allowCoreThreadTimeOut(true);
  }

  /** The lock that guards all links; held only for a moment. */
  public Object lock() {
    return lock;
  }

  /**
   * Puts a work behind others; to be called with the lock held, once a work. The caller then leaves
   * the lock and calls {@link #begin}.
   */
  public void follow(Work work, @Nullable Work predecessor) {
    if (predecessor != null && !predecessor.done) {
      predecessor.addSuccessor(work);
      work.unmet++;
    }
  }

  /** Counts a work as queued; to be called with the lock held, after its last {@link #follow}. */
  public boolean enqueue(Work work) {
    queuedWorks++;
    noteFill();
    return work.unmet == 0 && admit(work);
  }

  /**
   * Does something while no work touches device memory: waits for those that do, and lets none
   * begin before it is done.
   *
   * @return false, with nothing done, if they do not end within {@code timeoutMillis}
   */
  public boolean runAlone(Runnable action, long timeoutMillis) {
    try {
      if (!hold(timeoutMillis)) {
        return false;
      }
      action.run();
      return true;
    } finally {
      List<Work> ready;
      synchronized (lock) {
        held = false;
        ready = List.copyOf(heldBack);
        heldBack.clear();
        touching += ready.size();
      }
      ready.forEach(this::begin);
    }
  }

  private boolean hold(long timeoutMillis) {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    synchronized (lock) {
      held = true;
      try {
        while (touching > 0) {
          long leftMillis = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
          if (leftMillis <= 0) {
            return false;
          }
          lock.wait(leftMillis);
        }
        return true;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
  }

  /** Whether a work that has nothing to wait for may begin now; with the lock held. */
  private boolean admit(Work work) {
    if (!work.touchesMemory()) {
      return true;
    }
    if (held) {
      heldBack.add(work);
      return false;
    }
    touching++;
    return true;
  }

  /** Starts a work for which {@link #enqueue} said true; the lock must not be held. */
  public void begin(Work work) {
    if (work.isShort()) {
      drain(work);
    } else {
      copyThreads.execute(() -> drain(work));
    }
  }

  /** Ends a work whose start did not end it, and starts what waited for it. */
  public void finish(Work work) {
    Queue<Work> ready = new ArrayDeque<>(1);
    complete(work, ready);
    drainAll(ready);
  }

  /** A work that is done when all of {@code predecessors} are. */
  public Completion join(List<Work> predecessors) {
    Work join = new Join(this);
    boolean ready;
    synchronized (lock) {
      predecessors.forEach(predecessor -> follow(join, predecessor));
      if (join.unmet == 0) {
        return Completion.DONE;
      }
      ready = enqueue(join);
    }
    if (ready) {
      begin(join);
    }
    return join;
  }

  boolean addListener(Work work, Runnable action) {
    synchronized (lock) {
      if (work.done) {
        return false;
      }
      if (work.listeners == null) {
        work.listeners = new ArrayList<>(1);
      }
      work.listeners.add(action);
      return true;
    }
  }

  /**
   * Waits while too much is queued; to be called with the lock held, which it gives up meanwhile.
   *
   * @throws GpuException OUT_OF_MEMORY if it is twice too much, and a host function runs
   */
  public void awaitRoom() {
    while (full && hostFunctionsRunning == 0) {
      awaitChange();
    }
    if (full
        && (queuedWorks >= OVERDRAFT * MAX_QUEUED_WORKS
            || queuedBytes >= OVERDRAFT * MAX_QUEUED_BYTES)) {
      throw new GpuException(
          CudaStatus.OUT_OF_MEMORY,
          "%d operations with %d MiB wait behind a host function that does not end"
              .formatted(queuedWorks, queuedBytes >> 20));
    }
  }

  /** False if {@link #awaitRoom} would not wait for room, though there is little. */
  public boolean hasRoom() {
    return !full || !hostFunctionRuns();
  }

  /** Counts bytes held by queued works; negative to release them. */
  public void addQueuedBytes(long bytes) {
    synchronized (lock) {
      queuedBytes += bytes;
      noteFill();
      lock.notifyAll();
    }
  }

  private void noteFill() {
    boolean now = queuedWorks >= MAX_QUEUED_WORKS || queuedBytes >= MAX_QUEUED_BYTES;
    if (now != full) {
      full = now;
    }
  }

  /** Says that a host function starts (1) or has ended (-1). */
  public void addHostFunctions(int change) {
    synchronized (lock) {
      hostFunctionsRunning += change;
      lock.notifyAll();
    }
  }

  /** Whether waiting for queued works may hang on the thread that waits. */
  public boolean hostFunctionRuns() {
    synchronized (lock) {
      return hostFunctionsRunning > 0;
    }
  }

  /** Ends the threads; false if one is still at work after {@code timeoutSeconds}. */
  public boolean close(long timeoutSeconds) {
    copyThreads.shutdownNow();
    try {
      return copyThreads.awaitTermination(timeoutSeconds, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void awaitChange() {
    try {
      lock.wait();
    } catch (InterruptedException e) {
      // The thread is being ended; whoever interrupted it sees the flag after this call.
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while the device's queue was full", e);
    }
  }

  private void drain(Work first) {
    if (first.start()) {
      finish(first);
    }
  }

  private void drainAll(Queue<Work> ready) {
    for (Work work = ready.poll(); work != null; work = ready.poll()) {
      if (!work.isShort()) {
        begin(work);
      } else if (work.start()) {
        complete(work, ready);
      }
    }
  }

  private void complete(Work work, Queue<Work> ready) {
    @Nullable List<Runnable> listeners;
    synchronized (lock) {
      work.done = true;
      if (work.touchesMemory() && --touching == 0 && held) {
        lock.notifyAll();
      }
      if (work.successors != null) {
        for (Work successor : work.successors) {
          if (--successor.unmet == 0 && admit(successor)) {
            ready.add(successor);
          }
        }
        work.successors = null;
      }
      listeners = work.listeners;
      work.listeners = null;
      queuedWorks--;
      noteFill();
      if (queuedWorks == MAX_QUEUED_WORKS - 1) {
        lock.notifyAll();
      }
    }
    if (listeners != null) {
      listeners.forEach(Scheduler::runListener);
    }
  }

  static void runListener(Runnable listener) {
    try {
      listener.run();
    } catch (RuntimeException | Error e) {
      // One waiter's defect must not keep others waiting.
      Thread thread = Thread.currentThread();
      thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
    }
  }

  private static final class Join extends Work {
    Join(Scheduler scheduler) {
      super(scheduler);
    }

    @Override
    protected boolean start() {
      return true;
    }
  }
}
