// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.ListGpusReply;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.runtime.StateChangeLogger;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The GPUs of a pool, as its control plane reports them when polled. Runs on an event loop; any
 * thread may read the result.
 */
public final class PoolGpus implements PoolState, AutoCloseable {
  private static final long CALL_SECONDS = 10;

  private final ManagedChannel channel;
  private final PoolGrpc.PoolStub pool;
  private final EventLoop loop;
  private final long everyNanos;
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
  private final StateChangeLogger saying =
      new StateChangeLogger(LoggerFactory.getLogger(PoolGpus.class));
  private volatile @Nullable Integer healthyGpus;
  private volatile boolean closed;
  private volatile @Nullable Future<?> next;

  private PoolGpus(ManagedChannel pool, Duration every, EventLoop loop) {
    channel = pool;
    this.pool = PoolGrpc.newStub(pool);
    this.loop = loop;
    everyNanos = every.toNanos();
  }

  /**
   * Starts to ask: at once, and again that long after each answer.
   *
   * @param pool a channel to its control plane with the necessary credentials; not closed with this
   */
  public static PoolGpus ask(ManagedChannel pool, Duration every, EventLoop loop) {
    PoolGpus gpus = new PoolGpus(pool, every, loop);
    gpus.next = loop.submit(gpus::askAgain);
    return gpus;
  }

  @Override
  public OptionalInt healthyGpus() {
    Integer known = healthyGpus;
    return known == null ? OptionalInt.empty() : OptionalInt.of(known);
  }

  @Override
  public Subscription onChange(Runnable listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }

  private void askAgain() {
    if (!closed) {
      // Otherwise it would try to connect less and less often.
      if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
        channel.enterIdle();
      }
      pool.withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
          .listGpus(ListRequest.getDefaultInstance(), new Answer());
    }
  }

  private void learn(@Nullable Integer gpus) {
    boolean different = !Objects.equals(gpus, healthyGpus);
    healthyGpus = gpus;
    if (different) {
      listeners.forEach(Runnable::run);
    }
    if (!closed) {
      next = loop.schedule(this::askAgain, everyNanos, TimeUnit.NANOSECONDS);
    }
  }

  private static String reason(Status status) {
    String text = status.getCode() + " " + status.getDescription();
    return status.getCause() == null ? text : text + " (" + status.getCause().getMessage() + ")";
  }

  @Override
  public void close() {
    closed = true;
    Future<?> planned = next;
    if (planned != null) {
      planned.cancel(false);
    }
  }

  private final class Answer implements StreamObserver<ListGpusReply> {
    @Override
    public void onNext(ListGpusReply reply) {
      int healthy =
          (int)
              reply.getGpusList().stream()
                  .filter(gpu -> gpu.getHealth() == GpuInfo.Health.HEALTH_HEALTHY)
                  .count();
      loop.execute(() -> {
        saying.info("the pool has " + healthy + " healthy GPUs");
        learn(healthy);
      });
    }

    @Override
    public void onError(Throwable failure) {
      if (closed) {
        return;
      }
      loop.execute(() -> {
        saying.warn("the pool does not tell what it has: " + reason(Status.fromThrowable(failure)));
        learn(null);
      });
    }

    @Override
    public void onCompleted() {}
  }
}
