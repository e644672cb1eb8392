// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.client.PoolClient;
import io.gpupool.client.RecordingPool;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.tls.TlsFiles;
import io.netty.channel.EventLoopGroup;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Requests to a pool of two servers, neither of which can serve. */
class LeaseCallIT {
  private static final EventLoopGroup LOOPS = EventLoops.create("lease-call-test", 1);

  /** As servers take when etcd is away. */
  private static final long ANSWER_MILLIS = 3000;

  @AfterAll
  static void stopLoops() {
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void request_thatDoesNotWait_asksAnotherServerAndGivesUp() throws Exception {
    try (RecordingPool first = new RecordingPool(TlsFiles.NONE, ANSWER_MILLIS);
        RecordingPool second = new RecordingPool(TlsFiles.NONE, ANSWER_MILLIS);
        PoolClient client = client(first, second)) {
      CompletableFuture<HeldLease> asking =
          client.requestLease(LeaseRequest.getDefaultInstance(), queued -> {});
      assertThatThrownBy(() -> asking.get(60, TimeUnit.SECONDS))
          .isInstanceOf(ExecutionException.class)
          .hasMessageContaining("out of service");
      assertThat(first.authorizations().size() + second.authorizations().size()).isEqualTo(2);
    }
  }

  @Test
  void request_thatWaits_asksAgainAndAgain() throws Exception {
    try (RecordingPool first = new RecordingPool(TlsFiles.NONE, ANSWER_MILLIS);
        RecordingPool second = new RecordingPool(TlsFiles.NONE, ANSWER_MILLIS);
        PoolClient client = client(first, second)) {
      CompletableFuture<HeldLease> asking =
          client.requestLease(
              LeaseRequest.newBuilder().setWaitMillis(600_000).build(), queued -> {});
      while (first.authorizations().size() + second.authorizations().size() < 3) {
        assertThat(asking).isNotDone();
        TimeUnit.MILLISECONDS.sleep(50);
      }
      asking.cancel(false);
    }
  }

  private static PoolClient client(RecordingPool first, RecordingPool second) {
    return new PoolClient(
        PoolAddress.parse(first.address() + "," + second.address()),
        null,
        ClientSecurity.DEFAULT,
        LOOPS);
  }
}
