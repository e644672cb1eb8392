// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.server.PoolServer;
import io.gpupool.server.command.notice.Notice;
import io.gpupool.server.command.notice.NoticeSource;
import io.gpupool.server.command.notice.NoticeWatch;
import io.gpupool.transport.Signals;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The end of a server: the notices and signals that tell of it, and the drain before it. Made
 * before the server is started, so that what is wrong with the options is said first.
 */
final class ServerEnd {
  private static final Logger LOG = LoggerFactory.getLogger(ServerEnd.class);
  private static final Duration DEFAULT_LIMIT = Duration.ofSeconds(5);

  /** The time between the end of the leases and that of the machine. */
  private static final Duration AHEAD = Duration.ofSeconds(2);

  private final boolean move;
  private final @Nullable Duration limit;
  private final @Nullable NoticeSource file;
  private final @Nullable NoticeSource cloud;
  private final CountDownLatch told = new CountDownLatch(1);
  private volatile @Nullable Instant deadline;

  ServerEnd(EndServerOptions options) {
    move = options.move();
    limit = options.limit().orElse(null);
    file = options.file().orElse(null);
    cloud = options.cloud().orElse(null);
  }

  /**
   * Refuses to start on a machine that the cloud is about to take away, as the next process of a
   * server that has just ended for this reason would. A cloud that does not answer keeps no server
   * from its work.
   */
  void requireMachineStays() throws IOException, InterruptedException {
    Optional<Notice> notice = Optional.empty();
    try {
      notice = cloud == null ? notice : cloud.look();
    } catch (IOException e) {
      LOG.warn("notices of the cloud cannot be read yet: {}", e.getMessage());
    }
    if (notice.isPresent()) {
      throw new IOException(notice.get().text() + ": no server is started on it");
    }
  }

  /** Waits until the server is to end, and drains it if it does not leave its sessions. */
  void await(PoolServer server) throws InterruptedException {
    Signals.onTermination(told::countDown);
    if (file != null) {
      NoticeWatch.start(file, notice -> server.drain(move, null, () -> {}));
    }
    if (cloud != null) {
      NoticeWatch.start(cloud, notice -> drainBefore(notice, server));
    }
    told.await();
    if (limit != null || deadline != null || !server.leavesSessions()) {
      drain(server, limit != null ? limit : left());
      server.leaveNothing();
    }
  }

  /** Has the server end once it is empty, as it is when its leases have had their time. */
  private void drainBefore(Notice notice, PoolServer server) {
    Instant at = notice.at();
    Instant end = at == null ? Instant.now() : at.minus(AHEAD);
    deadline = end;
    server.drain(move, end.toEpochMilli(), told::countDown);
  }

  private Duration left() {
    Instant end = deadline;
    return end == null ? DEFAULT_LIMIT : Duration.between(Instant.now(), end).plus(AHEAD);
  }

  /** Waits until no lease is left, the limit has passed or a second signal comes. */
  private void drain(PoolServer server, Duration atMost) throws InterruptedException {
    CountDownLatch enough = new CountDownLatch(1);
    Signals.onTermination(enough::countDown);
    server.drain(move, null, enough::countDown);
    if (!enough.await(atMost.toMillis(), TimeUnit.MILLISECONDS) && atMost.isPositive()) {
      System.err.println(
          "gpupool: leases are left after " + atMost.toSeconds() + " s; they end now");
    }
  }
}
