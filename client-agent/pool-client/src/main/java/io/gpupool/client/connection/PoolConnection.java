// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** A channel to a pool that can be told to connect again at once. For any thread. */
public final class PoolConnection {
  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final ManagedChannel channel;
  private final LongSupplier nowNanos;
  private final PendingReturns returns = new PendingReturns();

  @GuardedBy("this")
  private long leftAtNanos;

  /** Connects nothing yet; closing the channel remains the caller's. */
  public PoolConnection(ManagedChannel channel, LongSupplier nowNanos) {
    this.channel = channel;
    this.nowNanos = nowNanos;
    leftAtNanos = nowNanos.getAsLong() - PAUSE_NANOS;
  }

  public ManagedChannel channel() {
    return channel;
  }

  /** Returns the calls after which the channel may be closed. */
  public PendingReturns returns() {
    return returns;
  }

  /** Has the next call try to connect, however often that has failed before. */
  public void retryNow() {
    if (isFailing()) {
      channel.enterIdle();
    }
  }

  /** Retries now, but at most once a second. */
  public void retrySoon() {
    if (isFailing()) {
      leaveServer();
    }
  }

  /** Has the next call choose a server again, once a second; calls that are under way go on. */
  public synchronized void leaveServer() {
    long now = nowNanos.getAsLong();
    if (now - leftAtNanos >= PAUSE_NANOS) {
      leftAtNanos = now;
      channel.enterIdle();
    }
  }

  private boolean isFailing() {
    return channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE;
  }
}
