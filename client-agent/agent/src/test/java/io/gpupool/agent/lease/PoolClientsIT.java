// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.TokenText;
import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.server.Pool;
import io.gpupool.transport.EventLoops;
import io.grpc.Status;
import io.netty.channel.EventLoopGroup;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class PoolClientsIT {
  private static final EventLoopGroup LOOPS = EventLoops.create("pool-clients-test", 1);
  private static Pool pool;

  private final PoolAddress address = new PoolAddress("127.0.0.1", pool.server.controlPort());
  private final PoolClients clients =
      new PoolClients(LOOPS, ClientSecurity.DEFAULT, address, "own");

  @BeforeAll
  static void startPool() throws Exception {
    pool = new Pool("soft:1", 0);
  }

  @AfterAll
  static void stopPool() {
    pool.close();
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void connection_ofNoProgramAnyMore_isClosedUnlessItIsTheAgentsOwn() {
    PoolClient own = clients.take(address, token("own"));
    PoolClient other = clients.take(address, token("of-a-pod"));
    assertThat(clients.take(address, token("of-a-pod"))).isSameAs(other);
    clients.giveBack(other);
    assertThat(clients.take(address, token("of-a-pod"))).isSameAs(other);
    clients.giveBack(own);
    clients.giveBack(other);
    clients.giveBack(other);
    assertThat(clients.take(address, token("own"))).isSameAs(own);
    assertThat(clients.take(address, token("of-a-pod"))).isNotSameAs(other);
    clients.close();
  }

  @Test
  void connection_givenBackOnItsEventLoop_letsACallUnderWayFinish() throws Exception {
    PoolClient other = clients.take(address, PoolCredentials.toOwnPool(null));
    other.describeLease("L1", "").handle((reply, failure) -> null).get(10, TimeUnit.SECONDS);
    CompletableFuture<DescribeLeaseReply> call =
        LOOPS
            .submit(() -> {
              CompletableFuture<DescribeLeaseReply> under = other.describeLease("L1", "");
              clients.giveBack(other);
              return under;
            })
            .get(10, TimeUnit.SECONDS);
    Status answer =
        call.handle((reply, failure) -> Status.fromThrowable(failure)).get(10, TimeUnit.SECONDS);
    assertThat(answer.getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
    clients.close();
  }

  private static PoolCredentials token(String text) {
    return PoolCredentials.toOwnPool(new TokenText(text));
  }
}
