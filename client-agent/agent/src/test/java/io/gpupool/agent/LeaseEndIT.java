// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.server.Pool;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.wire.TextMessage;
import io.netty.channel.EventLoopGroup;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Programs that wait for their workers when their lease ends, of which nothing comes over the call
 * stream: the pool and the workers live on here.
 */
class LeaseEndIT {
  private static final EventLoopGroup LOOPS = EventLoops.create("lease-end-test", 1);
  private static int number;
  private static Pool pool;

  private final UnixAddress socket =
      new UnixAddress("@gpupool-end-test-" + ProcessHandle.current().pid() + "-" + number++);

  @BeforeAll
  static void startPool() throws Exception {
    pool = new Pool("soft:1", 1);
  }

  @AfterAll
  static void stopPool() {
    pool.close();
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void leaseEnded_programWithItsOwnConnection_hearsTheReasonAndItsStreamEnds() throws Exception {
    try (Agent agent = start(false);
        PoolClient client = client();
        Shim ended = new Shim(socket);
        Shim other = new Shim(socket)) {
      HeldLease held = lease(client);
      HeldLease kept = lease(client);
      attach(ended, held);
      attach(other, kept);
      agent.leaseEnded(held, "its time is over");
      TextMessage told = ended.socket.receive().orElseThrow();
      assertThat(told.type()).isEqualTo("ended");
      assertThat(told.get("message")).contains("the lease has ended: its time is over");
      assertThat(ended.readLine()).isNull();
      assertThat(other.say("echo still")).isEqualTo("still");
    }
  }

  @Test
  void leaseEnded_relayedProgram_findsItsStreamAtAnEnd() throws Exception {
    try (Agent agent = start(true);
        PoolClient client = client();
        Shim ended = new Shim(socket)) {
      HeldLease held = lease(client);
      attach(ended, held);
      agent.leaseEnded(held, "its time is over");
      assertThat(ended.readLine()).isNull();
    }
  }

  @Test
  void leaseEnded_saidByItsHolderWithItsSecret_endsTheStreamOfThatLease() throws Exception {
    try (Agent agent = start(false);
        PoolClient client = client();
        Shim ended = new Shim(socket)) {
      assertThat(agent).isNotNull();
      HeldLease held = lease(client);
      attach(ended, held);
      tellEnded(held.lease().getId() + ".wrong");
      assertThat(ended.say("echo still")).isEqualTo("still");
      tellEnded(held.ticket());
      assertThat(ended.readLine()).isNull();
    }
  }

  private void tellEnded(String ticket) throws Exception {
    try (Shim holder = new Shim(socket)) {
      holder.socket.send(
          TextMessage.ofType("ended").put("lease", ticket).put("message", "over").build());
      assertThat(holder.socket.receive()).isEmpty();
    }
  }

  private static void attach(Shim shim, HeldLease lease) throws Exception {
    assertThat(shim.attach(Shim.attach().put("lease", lease.ticket())).type())
        .isEqualTo("attached");
    assertThat(shim.say("echo here")).isEqualTo("here");
  }

  private static HeldLease lease(PoolClient client) throws Exception {
    LeaseRequest half =
        LeaseRequest.newBuilder()
            .setFraction(0.5)
            .setWaitMillis(20_000)
            .setResumeWindowMillis(0)
            .setHolder(Holder.newBuilder().setPid(1))
            .build();
    return client.requestLease(half, queued -> {}).get(30, TimeUnit.SECONDS);
  }

  private static PoolClient client() {
    return new PoolClient(address(), null, ClientSecurity.DEFAULT, LOOPS);
  }

  private Agent start(boolean relay) throws Exception {
    return Agent.start(
        new AgentOptions(
            new AgentSockets(socket, null),
            address(),
            null,
            ClientSecurity.DEFAULT,
            LeaseOptions.NOTHING,
            relay,
            null,
            false),
        LOOPS);
  }

  private static PoolAddress address() {
    return new PoolAddress("127.0.0.1", pool.server.controlPort());
  }
}
