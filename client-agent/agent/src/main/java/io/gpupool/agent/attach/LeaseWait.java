// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.Holder;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.TextMessage;
import io.grpc.Status;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The wait of a program for servers that are away for a moment, and of a pod's for its lease, which
 * may take long. Runs on the program's event loop.
 */
final class LeaseWait {
  private static final Logger LOG = LoggerFactory.getLogger(LeaseWait.class);

  /** The time for a server to restart and for the cluster to learn its address. */
  private static final long AWAY_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final Channel program;
  private @Nullable String told;
  private @Nullable ChannelFuture telling;
  private @Nullable Long awaySinceNanos;

  LeaseWait(Channel program) {
    this.program = program;
  }

  /** Returns why it is worth waiting after a failure; empty if it is not. */
  Optional<String> reason(Throwable failure, PoolAddress pool) {
    Throwable inner = PoolRequestException.inner(failure);
    Status status = Status.fromThrowable(inner);
    if (status.getCode() == Status.Code.NOT_FOUND) {
      awaySinceNanos = null;
      return Optional.of(
          Objects.requireNonNullElse(status.getDescription(), "the pod has no lease"));
    }
    PoolRequestException refusal = PoolRequestException.of(inner, pool);
    if (refusal.why() != PoolRequestException.Cause.UNREACHABLE) {
      return Optional.empty();
    }
    long nowNanos = System.nanoTime();
    long sinceNanos = Objects.requireNonNullElse(awaySinceNanos, nowNanos);
    awaySinceNanos = sinceNanos;
    return nowNanos - sinceNanos < AWAY_NANOS
        ? Optional.of(refusal.getMessage())
        : Optional.empty();
  }

  /** Tells the shim the reason of the wait; says it again only when the shim has heard the last. */
  void tell(String why, AttachRequest.LeaseHandle ticket, Holder holder) {
    if (!why.equals(told)) {
      told = why;
      LOG.info(
          "pid {} waits for the lease {}: {}",
          Integer.toUnsignedString(holder.getPid()),
          ticket.leaseId(),
          why);
    }
    if (telling == null || telling.isDone()) {
      TextMessage waiting =
          TextMessage.ofType("waiting").put("message", why.replace('\n', ' ')).build();
      telling = program.writeAndFlush(TextMessageDecoder.encode(waiting));
    }
  }
}
