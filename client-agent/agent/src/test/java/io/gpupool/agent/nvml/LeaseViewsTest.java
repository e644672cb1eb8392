// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.transport.EventLoops;
import io.netty.channel.EventLoopGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class LeaseViewsTest {
  private static final EventLoopGroup LOOPS = EventLoops.create("lease-views-test", 1);
  private static final AttachRequest.LeaseHandle LEASE = AttachRequest.LeaseHandle.parse("L1.s");

  private final AtomicLong nowNanos = new AtomicLong();
  private final List<CompletableFuture<DescribeLeaseReply>> asked = new ArrayList<>();
  private final LeaseViews views =
      new LeaseViews(
          (pool, lease) -> {
            asked.add(new CompletableFuture<>());
            return asked.getLast();
          },
          nowNanos::get);
  private final PoolClient pool =
      new PoolClient(new PoolAddress("127.0.0.1", 1), null, ClientSecurity.DEFAULT, LOOPS);

  @AfterAll
  static void stop() {
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void of_askedManyTimes_poolIsAskedFiveTimesASecond() {
    CompletableFuture<DescribeLeaseReply> first = views.of(pool, LEASE);
    pass(900);
    CompletableFuture<DescribeLeaseReply> meanwhile = views.of(pool, LEASE);
    assertThat(asked).as("one request is under way").hasSize(1);
    asked.getFirst().complete(DescribeLeaseReply.getDefaultInstance());
    assertThat(first).isCompleted();
    assertThat(meanwhile).isCompleted();
    pass(199);
    assertThat(views.of(pool, LEASE)).isCompleted();
    assertThat(asked).hasSize(1);
    pass(1);
    assertThat(views.of(pool, LEASE)).isNotDone();
    assertThat(asked).hasSize(2);
  }

  @Test
  void of_requestFails_nextOneAsksAgain() {
    CompletableFuture<DescribeLeaseReply> first = views.of(pool, LEASE);
    asked.getFirst().completeExceptionally(new IllegalStateException("no such lease"));
    assertThat(first).isCompletedExceptionally();
    assertThat(views.of(pool, LEASE)).isNotDone();
    assertThat(asked).hasSize(2);
  }

  @Test
  void of_anotherLease_isAskedForApart() {
    views.of(pool, LEASE);
    views.of(pool, AttachRequest.LeaseHandle.parse("L2.s"));
    assertThat(asked).hasSize(2);
  }

  private void pass(long millis) {
    nowNanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
  }
}
