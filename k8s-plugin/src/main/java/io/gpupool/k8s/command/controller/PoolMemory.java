// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.k8s.command.process.PoolConnections;
import io.gpupool.runtime.StateChangeLogger;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory of the pool's largest GPU, which stays known while the pool does not answer. It has
 * its own thread; for any thread.
 */
final class PoolMemory implements Supplier<OptionalLong>, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PoolMemory.class);
  private static final long CALL_SECONDS = 10;
  private static final Duration RETRY = Duration.ofSeconds(1);

  private final PoolConnections pool;
  private final Duration every;
  private final Thread thread;
  private volatile @Nullable Long bytes;
  private volatile boolean reached;

  private PoolMemory(PoolConnections pool, Duration every) {
    this.pool = pool;
    this.every = every;
    thread = Thread.ofVirtual().name("pool-memory").unstarted(this::run);
  }

  /**
   * Starts to ask: at once, and again that long after each answer. Until the pool has reported its
   * memory, it asks every second, because pods that ask for memory of a GPU are denied until then.
   */
  static PoolMemory ask(PoolConnections pool, Duration every) {
    PoolMemory memory = new PoolMemory(pool, every);
    memory.thread.start();
    return memory;
  }

  /** Returns the bytes; empty: the pool has never reported them. */
  @Override
  public OptionalLong get() {
    Long known = bytes;
    return known == null ? OptionalLong.empty() : OptionalLong.of(known);
  }

  /** Returns whether the pool answered the last call. */
  boolean isReached() {
    return reached;
  }

  private void run() {
    ManagedChannel channel = null;
    try {
      channel = pool.openWhenThere();
      StateChangeLogger changes = new StateChangeLogger(LOG);
      while (true) {
        changes.info(look(channel));
        Thread.sleep(bytes != null ? every : RETRY);
      }
    } catch (InterruptedException e) {
      // Closed.
    } finally {
      if (channel != null) {
        channel.shutdownNow();
      }
    }
  }

  private String look(ManagedChannel channel) {
    // Otherwise it would try to connect less and less often.
    if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
      channel.enterIdle();
    }
    try {
      OptionalLong largest =
          PoolGrpc.newBlockingStub(channel)
              .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
              .listGpus(ListRequest.getDefaultInstance())
              .getGpusList()
              .stream()
              .mapToLong(GpuInfo::getMemoryBytes)
              .filter(size -> size > 0)
              .max();
      reached = true;
      if (largest.isEmpty()) {
        return "the pool " + pool.address() + " has no GPUs at the moment";
      }
      bytes = largest.getAsLong();
      return "GPUs of the pool "
          + pool.address()
          + " have at most "
          + (largest.getAsLong() >> 20)
          + " MiB";
    } catch (StatusRuntimeException e) {
      reached = false;
      Status status = e.getStatus();
      return "the pool "
          + pool.address()
          + " does not answer: "
          + status.getCode()
          + " "
          + status.getDescription();
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
