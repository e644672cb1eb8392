// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.client.PoolClient;
import io.gpupool.client.SessionHandle;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.runtime.BackOff;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The end of a session whose program has left. The pool would wait for the program until the resume
 * window is over, so it is told, and told again while it cannot be reached. Runs on the agent's
 * event loop.
 */
final class SessionEnd {
  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);
  private static final Logger LOG = LoggerFactory.getLogger(SessionEnd.class);

  private final PoolClient pool;
  private final SessionHandle session;
  private final long windowNanos;
  private final EventLoop loop;
  private final BooleanSupplier agentEnds;
  private final long startNanos = System.nanoTime();
  private final BackOff pauses =
      BackOff.jittered(FIRST_PAUSE, LONGEST_PAUSE, RandomGenerator.getDefault());
  private final CompletableFuture<Void> done = new CompletableFuture<>();

  private SessionEnd(
      PoolClient pool,
      SessionHandle session,
      Duration window,
      EventLoop loop,
      BooleanSupplier agentEnds) {
    this.pool = pool;
    this.session = session;
    windowNanos = window.toNanos();
    this.loop = loop;
    this.agentEnds = agentEnds;
  }

  /**
   * Closes a session.
   *
   * @return completes when the pool was told, or when that is of no use any more
   */
  static CompletableFuture<Void> of(
      PoolClient pool,
      SessionHandle session,
      Duration window,
      EventLoop loop,
      BooleanSupplier agentEnds) {
    SessionEnd end = new SessionEnd(pool, session, window, loop, agentEnds);
    end.tell();
    return end.done;
  }

  private void tell() {
    pool.closeSession(session)
        .whenCompleteAsync(
            (closed, failure) -> {
              if (failure == null || !isWorthAnotherAttempt(failure)) {
                done.complete(null);
              } else {
                loop.schedule(this::tell, pauses.next().toMillis(), TimeUnit.MILLISECONDS);
              }
            },
            loop);
  }

  private boolean isWorthAnotherAttempt(Throwable failure) {
    PoolRequestException why = PoolRequestException.of(failure, pool.address());
    LOG.debug("session {} is not closed: {}", session.id().brief(), why.getMessage());
    return why.why() == PoolRequestException.Cause.UNREACHABLE
        && !agentEnds.getAsBoolean()
        && System.nanoTime() - startNanos < windowNanos;
  }
}
