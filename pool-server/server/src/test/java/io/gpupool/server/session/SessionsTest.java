// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Actor;
import io.gpupool.server.identity.Role;
import io.gpupool.server.lease.Ground;
import io.gpupool.server.lease.Lease;
import io.gpupool.server.placement.Ask;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.Quota;
import io.gpupool.server.records.Request;
import io.gpupool.server.tenant.Tokens;
import io.gpupool.transport.EventLoops;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.unix.FileDescriptor;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class SessionsTest {
  private static final long HOUR_MILLIS = 3_600_000;
  private static final EventLoopGroup LOOPS = EventLoops.create("sessions-test", 1);
  private final Gpu gpu = PlacementTest.gpu("host:7642", 0, 8L << 30);
  private final Ground ground = new Ground(List.of(gpu));
  private final Workers workers =
      new Workers(
          new WorkerLaunch(List.of(), Map.of(), false),
          0,
          false,
          ground.timers,
          Runnable::run,
          task -> {});
  private final Sessions sessions =
      new Sessions(
          ground.leases,
          ground.tokens,
          workers,
          ground.timers,
          Runnable::run,
          new PeerDialer(ground.capacity.members(), LOOPS, Optional.empty()));

  @Test
  void join_tokenHasExpiredSinceTheSessionWasOpened_isDenied() throws Exception {
    Session session = session(20_000);
    ground.timers.pass(20_000);
    assertThat(join(session)).isEqualTo(ServerHello.DENIED);
    assertThat(session.state()).isEqualTo(Session.State.ENDING);
  }

  @Test
  void join_tokenIsValid_isNotRefused() throws Exception {
    Session session = session(HOUR_MILLIS);
    assertThat(join(session)).isEqualTo(ServerHello.ACCEPTED);
    assertThat(session.state()).isEqualTo(Session.State.JOINING);
  }

  private Session session(long validMillis) throws Exception {
    ground.tenants.create(Actor.ANYONE, "blue", Quota.UNLIMITED);
    Tokens.Made token = ground.tokens.create(Actor.ANYONE, "blue", Role.USER, validMillis, "");
    Actor actor = ground.tokens.authenticate(Optional.of(token.text())).orElseThrow();
    Ask ask = new Ask(1, new Ask.Size.Fraction(0.5), OptionalInt.empty(), Map.of());
    Outcome.Placed placed =
        (Outcome.Placed) Placement.place(ask, "blue", ground.capacity.snapshot());
    Lease lease =
        ground
            .leases
            .grant(new Request(ask, 0, 0, Ground.HOLDER, actor, "blue"), placed.parts())
            .lease();
    return sessions.open(lease, Ground.HOLDER, actor);
  }

  private int join(Session session) {
    int[] status = new int[1];
    sessions.join(
        new ClientHello(1, 1, session.id, session.key),
        new CallStream() {
          @Override
          public void refuse(ServerHello answer) {
            status[0] = answer.status();
          }

          @Override
          public CompletableFuture<FileDescriptor> accept(ServerHello answer) {
            return new CompletableFuture<>();
          }
        });
    return status[0];
  }
}
