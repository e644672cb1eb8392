// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseUpdates;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.model.LeasedSession;
import io.gpupool.server.lease.usage.FormerUsage;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.LeaseChange;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.Quota;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.state.StateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Leases with GPUs of two or three servers, on one state and one clock. */
class SpanningLeasesTest {
  private static final long GIB = 1L << 30;
  private static final long MINUTE_MILLIS = 60_000;
  private static final int SEEDS = Integer.getInteger("gpupool.spanning.seeds", 6);

  private final ManualTimers timers = new ManualTimers();
  private final LocalStore store = LocalStore.inMemory();
  private final Ground a = server("a");
  private final Ground b = server("b");

  private Ground server(String name) {
    Ground server = new Ground(store, timers, name, List.of(gpu(name, 0), gpu(name, 1)));
    server.come();
    timers.pass(1000);
    return server;
  }

  private static final class Hold implements LeaseHold {
    String ended = "";

    @Override
    public void ended(String reason) {
      ended = reason;
    }
  }

  /** A program, whose worker is dead when the test says so. */
  private record Running(Lease lease, int slot, List<String> reasons) implements LeasedSession {
    @Override
    public long calls() {
      return 0;
    }

    @Override
    public boolean isWaiting() {
      return false;
    }

    @Override
    public void end(String reason) {
      reasons.add(reason);
    }
  }

  private static Running run(Lease lease) {
    Running session = new Running(lease, lease.freeSlot().orElseThrow(), new ArrayList<>());
    lease.add(session);
    return session;
  }

  @Test
  void lease_ofTwoServers_isTakenInByEachWithItsOwnGpus() throws Exception {
    Lease atA = grant(a, 4, LeaseLimits.NONE);
    Hold hold = new Hold();
    a.leases.hold(atA, hold);
    timers.pass(100);
    Lease atB = at(b, atA);
    assertThat(atB.topology().servers()).containsExactly("a", "b");
    assertThat(atA.topology().own())
        .extracting(part -> part.gpu().label())
        .containsExactly("GPU 0 of a", "GPU 1 of a");
    assertThat(atB.topology().own())
        .extracting(part -> part.gpu().label())
        .containsExactly("GPU 0 of b", "GPU 1 of b");
    assertThat(List.of(atA.topology().isHome(), atB.topology().isHome()))
        .containsExactly(true, false);
    timers.pass(60 * MINUTE_MILLIS);
    requireHeld(atA, atB);

    a.leases.releaseHold(atA, hold);
    timers.pass(2000);
    requireAllFree();
  }

  @Test
  void release_atOneServer_theOtherKeepsItsGpusUntilItsWorkersAreDead() throws Exception {
    Lease atA = grant(a, 4, LeaseLimits.NONE);
    a.leases.hold(atA, new Hold());
    timers.pass(100);
    Running program = run(at(b, atA));
    a.leases.release(atA, Principal.ANYONE, "released");
    timers.pass(1000);
    assertThat(program.reasons).containsExactly("its lease has ended: released");
    assertThat(a.capacity.free(gpu("a", 1))).isEqualTo(gpu("a", 1).whole());
    assertThat(a.capacity.free(gpu("b", 1))).isEqualTo(Share.NONE);
    GrantRecord left = a.store.get(atA.id()).orElseThrow();
    assertThat(left.parts()).extracting(part -> part.gpu().server()).containsExactly("b", "b");
    b.leases.sessionGone(program.lease(), program);
    timers.pass(100);
    requireAllFree();
  }

  @Test
  void update_atEitherServer_isAtBothInOne() throws Exception {
    Lease atA = grant(a, 4, LeaseLimits.NONE);
    a.leases.hold(atA, new Hold());
    timers.pass(100);
    Lease atB = at(b, atA);
    LeaseUpdates updates = b.updates(false);
    updates.update(
        atA.id().text(), new LeaseChange(3000, true, LeaseClass.LATENCY), Principal.ANYONE);
    timers.pass(100);
    for (Lease lease : List.of(atA, atB)) {
      assertThat(lease.parts()).hasSize(4);
      assertThat(lease.parts())
          .allMatch(part -> part.share().computeBasisPoints() == 3000 && part.hard());
      assertThat(lease.topology().own()).hasSize(2).isSubsetOf(lease.parts());
      assertThat(lease.leaseClass()).isEqualTo(LeaseClass.LATENCY);
    }
    for (Ground server : List.of(a, b)) {
      assertThat(server.capacity.free(gpu(name(server), 1)).computeBasisPoints()).isEqualTo(7000);
    }
    long before = atA.time().grantedNanos(1, timers.nowNanos());
    timers.pass(1000);
    assertThat(atA.time().grantedNanos(1, timers.nowNanos()) - before).isEqualTo(300_000_000L);
  }

  @Test
  void update_oneGpuHasNoRoom_changesNone() throws Exception {
    Lease atA = grant(a, 4, LeaseLimits.NONE);
    a.leases.hold(atA, new Hold());
    LeaseUpdates updates = a.updates(false);
    updates.update(atA.id().text(), compute(1000), Principal.ANYONE);
    Placement.Part last = new Placement.Part(gpu("b", 1), null, new Share(0, 9000), false);
    LeaseId other = b.take(List.of(last));
    assertThatThrownBy(() -> updates.update(atA.id().text(), compute(2000), Principal.ANYONE))
        .hasMessageContaining("of GPU 1 of b: 0 % is free");
    assertThat(atA.parts()).allMatch(part -> part.share().computeBasisPoints() == 1000);
    assertThat(a.capacity.free(gpu("a", 0)).computeBasisPoints()).isEqualTo(9000);
    b.giveBack(other);
  }

  private static LeaseChange compute(int basisPoints) {
    return new LeaseChange(basisPoints, null, null);
  }

  @Test
  void release_ofATenantsLease_countsLessAsItsServersGiveItsGpusBack() throws Exception {
    a.tenants.create(Principal.ANYONE, "blue", new Quota(null, null, 3, null));
    Lease atA = grant(a, 4, LeaseLimits.NONE, "blue");
    timers.pass(100);
    Running program = run(at(b, atA));
    assertThat(a.tenants.use("blue")).isEqualTo(new ResourceUsage(4000, 32 * GIB, 1));
    a.leases.release(atA, Principal.ANYONE, "released");
    timers.pass(100);
    assertThat(a.tenants.use("blue")).isEqualTo(new ResourceUsage(2000, 16 * GIB, 1));
    b.leases.sessionGone(program.lease(), program);
    timers.pass(100);
    assertThat(a.tenants.use("blue")).isEqualTo(ResourceUsage.NONE);
    requireAllFree();
  }

  @Test
  void server_ofALeaseDies_theLeaseEndsAtTheOtherAndItsHolderHearsWhichOne() throws Exception {
    requireEndsWith(b, a);
  }

  @Test
  void firstServer_ofALeaseDies_theLeaseEndsAtTheOtherAndItsHolderHearsWhichOne() throws Exception {
    requireEndsWith(a, b);
  }

  private void requireEndsWith(Ground dying, Ground living) throws Exception {
    Lease there = grant(living, 4, LeaseLimits.NONE);
    assertThat(there.topology().home()).isEqualTo("a");
    Hold hold = new Hold();
    living.leases.hold(there, hold);
    timers.pass(100);
    Running program = run(there);
    dying.die();
    timers.pass(PeerServerMonitor.GONE_MILLIS - 1000);
    assertThat(hold.ended).as("etcd may have been away").isEmpty();
    timers.pass(3000);
    String reason = "server " + name(dying) + ", which had 2 of its 4 GPUs, is gone";
    assertThat(hold.ended).isEqualTo(reason);
    assertThat(program.reasons).containsExactly("its lease has ended: " + reason);
    living.leases.sessionGone(there, program);
    timers.pass(2000);
    requireNothingIsWritten();
  }

  @Test
  void server_ofALeaseIsGivenUpForAMoment_theLeaseGoesOn() throws Exception {
    Lease atA = grant(a, 3, LeaseLimits.NONE);
    a.leases.hold(atA, new Hold());
    timers.pass(100);
    b.loseRecord();
    timers.pass(60 * MINUTE_MILLIS);
    requireHeld(atA, at(b, atA));
  }

  @Test
  void server_ofALeaseIsKilledAndStartsAtOnce_theLeaseEndsEverywhere() throws Exception {
    Lease atA = grant(a, 4, LeaseLimits.NONE);
    Hold hold = new Hold();
    a.leases.hold(atA, hold);
    timers.pass(100);
    Running program = run(atA);
    b.killed();
    Ground again = new Ground(store, timers, "b", List.of(gpu("b", 0), gpu("b", 1)));
    again.leases.restore(FormerUsage.unknown());
    again.come();
    timers.pass(1000);
    assertThat(hold.ended).isEqualTo("server b, which has some of its GPUs, was started anew");
    assertThat(again.capacity.free(gpu("b", 0))).isEqualTo(gpu("b", 0).whole());
    assertThat(again.capacity.free(gpu("a", 0))).isEqualTo(Share.NONE);
    a.leases.sessionGone(atA, program);
    timers.pass(100);
    requireNothingIsWritten();
  }

  @Test
  void server_ofTheHolderDiesToo_nothingIsLeft() throws Exception {
    Ground c = server("c");
    Lease atA = grant(a, 6, LeaseLimits.NONE);
    a.leases.hold(atA, new Hold());
    timers.pass(100);
    Running program = run(at(c, atA));
    a.die();
    b.die();
    timers.pass(10_000);
    c.leases.sessionGone(program.lease(), program);
    timers.pass(2 * MINUTE_MILLIS);
    requireNothingIsWritten();
    assertThat(c.leases.all()).isEmpty();
  }

  @Test
  void holder_goesFromOneServerOfTheLeaseToTheOther_theLeaseGoesOnAndEndsWithIt() throws Exception {
    Lease atA = grant(a, 4, LeaseLimits.NONE);
    Hold first = new Hold();
    a.leases.hold(atA, first);
    timers.pass(100);
    Lease atB = at(b, atA);
    Hold second = new Hold();
    b.leases.hold(atB, second);
    a.leases.releaseHold(atA, first);
    timers.pass(60 * MINUTE_MILLIS);
    requireHeld(atA, atB);
    b.leases.releaseHold(atB, second);
    timers.pass(3000);
    requireAllFree();
  }

  @Test
  void holder_isAtAThirdServerThatDies_hasTenSecondsToComeToOneOfTheLease() throws Exception {
    Ground c = server("c");
    Lease atC = grant(c, 4, LeaseLimits.NONE);
    assertThat(atC.topology().servers()).containsExactly("a", "b");
    c.leases.hold(atC, new Hold());
    timers.pass(100);
    c.die();
    timers.pass(5000);
    b.leases.hold(at(b, atC), new Hold());
    timers.pass(60 * MINUTE_MILLIS);
    assertThat(at(a, atC).state()).isInstanceOf(LeaseState.Held.class);
    assertThat(at(b, atC).state()).isInstanceOf(LeaseState.Held.class);

    Lease atB = at(b, atC);
    b.leases.releaseHold(atB, Ground.holds(atB).getFirst());
    timers.pass(3000);
    requireAllFree();
  }

  @Test
  void holder_ofALeaseThatIsRenewed_comesToWhicheverServer() throws Exception {
    LeaseLimits renewed = new LeaseLimits(0, 0, MINUTE_MILLIS);
    Lease atA = grant(a, 4, renewed);
    come(a, atA);
    timers.pass(MINUTE_MILLIS - 10_000);
    come(b, at(b, atA));
    timers.pass(MINUTE_MILLIS - 10_000);
    assertThat(at(a, atA)).isSameAs(atA);
    assertThat(at(b, atA).state()).isInstanceOf(LeaseState.Held.class);
    timers.pass(20_000);
    requireAllFree();
  }

  private static void come(Ground server, Lease lease) {
    Hold hold = new Hold();
    server.leases.hold(lease, hold);
    server.leases.releaseHold(lease, hold);
  }

  @Test
  void idleTimeout_programsWorkAtTheOtherServerOnly_theLeaseGoesOnUntilTheyRestToo()
      throws Exception {
    Lease atA = grant(a, 4, new LeaseLimits(MINUTE_MILLIS, 0, 0));
    Hold hold = new Hold();
    a.leases.hold(atA, hold);
    for (int second = 0; second < 300; second += 2) {
      tell(b, atA, 500);
      timers.pass(2000);
    }
    assertThat(hold.ended).isEmpty();
    timers.pass(MINUTE_MILLIS - 5000);
    assertThat(hold.ended).isEmpty();
    timers.pass(20_000);
    assertThat(hold.ended).isEqualTo("it was idle for 1m");
    requireAllFree();
  }

  /** What a server tells of a lease whose programs did something there so long ago. */
  private void tell(Ground server, Lease lease, long idleMillis) throws Exception {
    server.records.update(transaction -> {
      transaction.put(
          RecordTypes.SERVER_STATUSES,
          name(server),
          new ServerStatus(
              timers.wallMillis(),
              ServerInfo.newBuilder().setName(name(server)).build(),
              List.of(
                  LeaseInfo.newBuilder()
                      .setId(lease.id().text())
                      .setIdleMillis(idleMillis)
                      .setSessions(1)
                      .build()),
              List.of()));
    });
  }

  @Test
  void timeLimit_ofALeaseOfTwoServers_endsItAtBoth() throws Exception {
    Lease atA = grant(a, 4, new LeaseLimits(0, MINUTE_MILLIS, 0));
    Hold hold = new Hold();
    a.leases.hold(atA, hold);
    timers.pass(MINUTE_MILLIS + 1000);
    assertThat(hold.ended).contains("time limit");
    requireAllFree();
  }

  @Test
  void grant_aServerDiesBetweenDecisionAndCommit_nothingIsGranted() throws Exception {
    GpuRequirements requirements = ask(4);
    Outcome.Placed placed =
        (Outcome.Placed) Placement.place(requirements, "", a.capacity.snapshot());
    b.loseRecord();
    try {
      a.grant(Ground.request(requirements, ""), placed.parts());
      throw new AssertionError("granted");
    } catch (RefusedException e) {
      assertThat(e.getMessage()).contains("server b has left the pool");
    }
    assertThat(a.records.all(RecordTypes.DIVISIONS)).isEmpty();
    assertThat(a.records.all(RecordTypes.GRANTS)).isEmpty();
  }

  /**
   * Servers die at any point of any lease's life and come back; whatever happens, no GPU is granted
   * twice, and in the end nothing is left.
   */
  @Test
  void leases_serversDieAtAnyTime_noneIsOverGrantedAndNoneIsLeft() throws Exception {
    for (int seed = 0; seed < SEEDS; seed++) {
      storm(new Random(seed));
    }
  }

  private static void storm(Random random) throws Exception {
    ManualTimers timers = new ManualTimers();
    LocalStore store = LocalStore.inMemory();
    String[] names = {"a", "b", "c"};
    Ground[] servers = new Ground[names.length];
    List<List<Running>> programs = new ArrayList<>();
    for (int i = 0; i < names.length; i++) {
      programs.add(new ArrayList<>());
      servers[i] = started(store, timers, names[i]);
    }
    for (int step = 0; step < 120; step++) {
      int at = random.nextInt(names.length);
      Ground server = servers[at];
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> grantIfThereIsRoom(server, 1 + random.nextInt(6));
        case 3 -> {
          List<Lease> leases = server.leases.all();
          if (!leases.isEmpty()) {
            release(server, leases.get(random.nextInt(leases.size())));
          }
        }
        case 4, 5 -> {
          for (Lease lease : server.leases.all()) {
            if (!lease.isRemote() && lease.state().isAlive()) {
              programs.get(at).add(run(lease));
            }
          }
        }
        case 6 -> {
          // Workers that were told to end do, others may.
          programs
              .get(at)
              .removeIf(p -> {
                boolean ends = !p.reasons.isEmpty() || random.nextInt(4) == 0;
                if (ends) {
                  server.leases.sessionGone(p.lease, p);
                }
                return ends;
              });
        }
        default -> {
          boolean atOnce = random.nextBoolean();
          server.killed();
          if (!atOnce) {
            server.loseRecord();
            timers.pass(random.nextInt(8000));
          }
          programs.get(at).clear();
          servers[at] = started(store, timers, names[at]);
        }
      }
      timers.pass(random.nextInt(3) == 0 ? random.nextInt(3000) : random.nextInt(20));
      requireNothingIsOverGranted(servers, programs);
    }
    for (int i = 0; i < names.length; i++) {
      Ground server = servers[i];
      for (Lease lease : server.leases.all()) {
        Ground.holds(lease).forEach(hold -> server.leases.releaseHold(lease, hold));
      }
      programs.get(i).forEach(program -> server.leases.sessionGone(program.lease(), program));
    }
    timers.pass(3 * MINUTE_MILLIS);
    assertThat(servers[0].records.all(RecordTypes.GRANTS)).isEmpty();
    assertThat(servers[0].records.all(RecordTypes.DIVISIONS)).isEmpty();
    assertThat(servers[0].records.all(RecordTypes.HOLDS)).isEmpty();
    for (Ground server : servers) {
      assertThat(server.leases.all()).isEmpty();
    }
  }

  private static Ground started(LocalStore store, ManualTimers timers, String name)
      throws Exception {
    Ground server = new Ground(store, timers, name, List.of(gpu(name, 0), gpu(name, 1)));
    server.leases.restore(FormerUsage.unknown());
    server.come();
    timers.pass(1500);
    return server;
  }

  private static void grantIfThereIsRoom(Ground server, int gpus) throws Exception {
    if (Placement.place(ask(gpus), "", server.capacity.snapshot())
        instanceof Outcome.Placed placed) {
      try {
        Lease lease = server.grant(Ground.request(ask(gpus), ""), placed.parts()).lease();
        server.leases.hold(lease, new Hold());
      } catch (RefusedException e) {
        assertThat(e.why()).isEqualTo(RefusedException.Why.CHANGED);
      }
    }
  }

  private static void release(Ground server, Lease lease) throws StateException {
    server.leases.release(lease, Principal.ANYONE, "released");
  }

  /** A GPU is one lease's, and as long as a worker of it lives, that one's. */
  private static void requireNothingIsOverGranted(Ground[] servers, List<List<Running>> programs) {
    for (int i = 0; i < servers.length; i++) {
      for (Running program : programs.get(i)) {
        for (Placement.Part part : program.lease().topology().own()) {
          assertThat(servers[i].capacity.division(part.gpu()).allocations())
              .as("what a living worker of %s uses", program.lease().id())
              .singleElement()
              .satisfies(a -> assertThat(a.lease()).isEqualTo(program.lease().id()));
        }
      }
      assertThat(servers[i].records.all(RecordTypes.DIVISIONS).values())
          .allSatisfy(d -> assertThat(d.value().allocations()).hasSize(1));
    }
  }

  private static void requireHeld(Lease... leases) {
    assertThat(leases).extracting(Lease::state).allMatch(state -> state instanceof LeaseState.Held);
  }

  private void requireAllFree() {
    assertThat(a.leases.all()).isEmpty();
    assertThat(b.leases.all()).isEmpty();
    requireNothingIsWritten();
  }

  private void requireNothingIsWritten() {
    assertThat(a.records.all(RecordTypes.GRANTS)).isEmpty();
    assertThat(a.records.all(RecordTypes.DIVISIONS)).isEmpty();
    assertThat(a.records.all(RecordTypes.HOLDS)).isEmpty();
    assertThat(a.records.all(RecordTypes.USAGES)).isEmpty();
  }

  private String name(Ground server) {
    return server == a ? "a" : "b";
  }

  private static Lease at(Ground server, Lease lease) {
    return server.finder.find(lease.id().text()).orElseThrow();
  }

  private static Lease grant(Ground server, int gpus, LeaseLimits limits) throws Exception {
    return grant(server, gpus, limits, "");
  }

  private static Lease grant(Ground server, int gpus, LeaseLimits limits, String tenant)
      throws Exception {
    GpuRequirements requirements = ask(gpus);
    Outcome.Placed placed =
        (Outcome.Placed) Placement.place(requirements, tenant, server.capacity.snapshot());
    return server
        .grant(
            new LeaseSpec(requirements, 0, 0, Ground.HOLDER, Principal.ANYONE, tenant, limits),
            placed.parts())
        .lease();
  }

  private static GpuRequirements ask(int gpus) {
    return new GpuRequirements(gpus, new GpuRequirements.Size.Fraction(1), null, List.of());
  }

  private static Gpu gpu(String server, int ordinal) {
    return PlacementTest.gpu(server, ordinal, 8 * GIB);
  }
}
