// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.Cause;
import io.gpupool.control.v1.GpuSelector;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.queue.QueueClient;
import io.gpupool.server.lease.queue.QueueEntry;
import io.gpupool.server.lease.queue.RequestIdentity;
import io.gpupool.server.lease.store.FullDisk;
import io.gpupool.server.lease.store.QueueStore;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseRequestValidator;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.rejection.InvalidFieldException;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.state.StateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Two servers' control planes on one state and one clock. */
class SeveralServersTest {
  private static final long GIB = 1L << 30;
  private static final String ID = "0123456789abcdef0123456789abcdef";
  private static final long HOUR_MILLIS = 3_600_000;

  private final ManualTimers timers = new ManualTimers();
  private final LocalStore store = LocalStore.inMemory();
  private final Ground a = new Ground(store, timers, "a", List.of(gpu("a")));
  private final Ground b =
      new Ground(store, timers, "b", List.of(gpu("b").withLabels(Map.of("zone", "eu/b=1"))));

  SeveralServersTest() {
    a.come();
    b.come();
    timers.pass(1000);
  }

  /** Writes down what it is told. */
  private static final class Client implements QueueClient {
    final List<Integer> places = new ArrayList<>();
    final String id;

    @SuppressWarnings("NullAway.Init") // set when it asks
    QueueEntry entry;

    GrantedLease granted = null;
    Cause refused = null;
    boolean sentAway;
    boolean wasHeld;

    Client(String id) {
      this.id = id;
    }

    @Override
    public LeaseHold hold() {
      return reason -> {};
    }

    @Override
    public void queued(int place, RejectionReason why) {
      places.add(place);
    }

    @Override
    public void granted(GrantedLease lease) {
      wasHeld = lease.lease().isHeldHere();
      Ground.dropHolds(lease.lease());
      assertThat(granted).isNull();
      granted = lease;
    }

    @Override
    public void refused(LeaseRefusal refusal) {
      refused = refusal.reason().cause();
    }

    @Override
    public void redirected(String reason) {
      sentAway = true;
    }

    /** Asks, and goes on holding what is granted. */
    Client ask(Ground server, LeaseRequest.Builder request) {
      LeaseRequest message = request.setRequestId(id).build();
      try {
        entry =
            server.queue.ask(
                LeaseRequestValidator.check(message, Principal.ANYONE),
                this,
                RequestIdentity.of(message).orElse(null));
      } catch (InvalidFieldException e) {
        throw new AssertionError(e);
      }
      return this;
    }

    Lease lease() {
      return granted.lease();
    }
  }

  private static final class Hold implements LeaseHold {
    String ended = "";

    @Override
    public void ended(String reason) {
      ended = reason;
    }
  }

  @Test
  void ask_onlyTheOtherServersGpuFits_isGrantedAndThatServerTakesItIn() {
    Client client = new Client(ID).ask(a, on("b"));
    Lease here = client.lease();
    assertThat(here.isRemote()).isTrue();
    Hold hold = new Hold();
    a.leases.hold(here, hold);
    timers.pass(100);
    Lease there = b.finder.find(here.id().text(), ID).orElseThrow();
    assertThat(there.isRemote()).isFalse();
    timers.pass(HOUR_MILLIS);
    assertThat(there.state()).as("its holder is at a").isInstanceOf(LeaseState.Held.class);
    assertThat(new Client("f" + ID.substring(1)).ask(b, on("b")).refused).isNotNull();

    a.leases.releaseHold(here, hold);
    timers.pass(2000);
    assertThat(there.state()).isInstanceOf(LeaseState.Gone.class);
    assertThat(b.leases.all()).isEmpty();
    assertThat(a.leases.all()).isEmpty();
    assertThat(new Client("e" + ID.substring(1)).ask(b, on("b")).granted).isNotNull();
  }

  @Test
  void ask_byALabelOfAnotherServersGpu_isGrantedThere() {
    LeaseRequest.Builder there =
        LeaseRequest.newBuilder().addSelectors(in("label.zone", "eu/b=1")).setGpus(1);
    assertThat(new Client(ID).ask(a, there).lease().parts().getFirst().gpu().server())
        .isEqualTo("b");
    assertThat(
            new Client("f" + ID.substring(1))
                .ask(a, LeaseRequest.newBuilder().addSelectors(in("label.zone", "us/*")))
                .refused)
        .isEqualTo(Cause.CAUSE_NO_MATCH);
  }

  @Test
  void lease_holderGoesToTheServerOfItsGpus_livesOnAndEndsThere() {
    Lease here = new Client(ID).ask(a, on("b")).lease();
    Hold first = new Hold();
    a.leases.hold(here, first);
    timers.pass(100);
    Lease there = b.finder.find(here.id().text(), ID).orElseThrow();
    Hold second = new Hold();
    b.leases.hold(there, second);
    a.leases.releaseHold(here, first);
    timers.pass(60_000);
    assertThat(there.state()).isInstanceOf(LeaseState.Held.class);
    assertThat(a.leases.all()).isEmpty();
    b.leases.releaseHold(there, second);
    timers.pass(2000);
    assertThat(b.leases.all()).isEmpty();
  }

  @Test
  void release_atAServerThatHasNothingOfIt_endsItAndItsHolderHears() throws Exception {
    Lease atB = new Client(ID).ask(b, on("b")).lease();
    Hold hold = new Hold();
    b.leases.hold(atB, hold);
    timers.pass(100);
    a.leases.release(a.finder.find(atB.id().text()).orElseThrow(), Principal.ANYONE, "released");
    timers.pass(100);
    assertThat(hold.ended).isEqualTo("released");
    assertThat(b.capacity.free(gpu("b"))).isEqualTo(gpu("b").whole());
  }

  @Test
  void server_holdingALeaseOfAnothersGpuDies_theHolderHasTenSecondsToGoElsewhere() {
    Lease here = new Client(ID).ask(a, on("b")).lease();
    a.leases.hold(here, new Hold());
    timers.pass(100);
    a.die();
    timers.pass(5000);
    Lease there = b.finder.find(here.id().text(), ID).orElseThrow();
    assertThat(there.state()).isInstanceOf(LeaseState.Grace.class);
    b.leases.hold(there, new Hold());
    timers.pass(HOUR_MILLIS);
    assertThat(there.state()).isInstanceOf(LeaseState.Held.class);
  }

  @Test
  void server_withTheGpusIsGone_itsLeasesEndAfterAMinuteAndItsGpusAreNotGranted() {
    Lease there = new Client(ID).ask(b, on("b")).lease();
    b.die();
    timers.pass(1000);
    Client other = new Client("f" + ID.substring(1)).ask(a, on("b").setWaitMillis(HOUR_MILLIS));
    assertThat(Optional.ofNullable(other.refused)).as("it may come back").isEmpty();
    timers.pass(30_000);
    assertThat(a.store.get(there.id())).isPresent();
    timers.pass(60_000);
    assertThat(a.store.get(there.id())).isEmpty();
    assertThat(Optional.ofNullable(other.granted)).as("its server is not there").isEmpty();
  }

  @Test
  void server_wasGivenUpAndComesBack_endsWhatWasEndedBeforeItsGpusAreGrantedAgain()
      throws StateException {
    Lease there = new Client(ID).ask(b, on("b")).lease();
    b.leases.hold(there, new Hold());
    b.loseRecord();
    a.timers.pass(5);
    a.store.endOfGone(there.id(), "b");
    timers.pass(2000);
    assertThat(there.state()).isInstanceOf(LeaseState.Gone.class);
    assertThat(b.membership.isRegistered()).isTrue();
    assertThat(new Client("f" + ID.substring(1)).ask(a, on("b")).granted).isNotNull();
  }

  @Test
  void waiting_serverDies_theClientGoesOnAtTheOtherWithItsPlace() {
    Lease running = new Client(ID).ask(a, on("b")).lease();
    Hold hold = new Hold();
    a.leases.hold(running, hold);
    Client first = new Client("1" + ID.substring(1)).ask(b, on("b").setWaitMillis(HOUR_MILLIS));
    timers.pass(1000);
    Client second = new Client("2" + ID.substring(1)).ask(a, on("b").setWaitMillis(HOUR_MILLIS));
    timers.pass(1000);
    assertThat(second.places).last().isEqualTo(2);
    assertThat(a.queue.elsewhere())
        .singleElement()
        .satisfies(waiting -> {
          assertThat(waiting.place()).isEqualTo(1);
          assertThat(waiting.reason().text()).contains("largest free fraction");
        });
    b.queue.withdraw(first.entry);
    Client again = new Client(first.id).ask(a, on("b").setWaitMillis(HOUR_MILLIS).setResumed(true));
    timers.pass(1000);
    assertThat(again.places).containsExactly(1);
    assertThat(again.entry.id()).isEqualTo(first.entry.id());
    a.leases.releaseHold(running, hold);
    timers.pass(2000);
    assertThat(again.granted).isNotNull();
    assertThat(second.granted).isNull();
    assertThat(first.granted).isNull();
    assertThat(a.records.count(RecordTypes.QUEUE)).isEqualTo(1);
  }

  @Test
  void waiting_clientGoesAway_itsPlaceGoesAfterAWhileAndTheNextIsGranted() {
    Lease running = new Client(ID).ask(a, on("b")).lease();
    Hold hold = new Hold();
    a.leases.hold(running, hold);
    Client gone = new Client("1" + ID.substring(1)).ask(a, on("b").setWaitMillis(HOUR_MILLIS));
    timers.pass(1000);
    Client next = new Client("2" + ID.substring(1)).ask(b, on("b").setWaitMillis(HOUR_MILLIS));
    timers.pass(1000);
    a.queue.withdraw(gone.entry);
    a.leases.releaseHold(running, hold);
    timers.pass(2000);
    assertThat(Optional.ofNullable(next.granted)).as("the place is kept for a while").isEmpty();
    timers.pass(QueueStore.ABSENT_MILLIS + 2000);
    assertThat(next.granted).isNotNull();
    assertThat(gone.granted).isNull();
  }

  @Test
  void waiting_isCancelledAtAnotherServer_itsClientHears() throws StateException {
    Lease running = new Client(ID).ask(a, on("b")).lease();
    a.leases.hold(running, new Hold());
    Client waiting = new Client("1" + ID.substring(1)).ask(a, on("b").setWaitMillis(HOUR_MILLIS));
    timers.pass(1000);
    b.queue.cancel(
        b.queue.elsewhere().getFirst().request(), new RejectionReason.Cancelled("ann", ""));
    timers.pass(1000);
    assertThat(waiting.refused).isEqualTo(Cause.CAUSE_CANCELLED);
    assertThat(a.records.count(RecordTypes.QUEUE)).isZero();
  }

  @Test
  void lease_isRenewedNowAndThenAtAnotherServer_theOneWithItsGpusGivesItItsTime() {
    Lease first = new Client(ID).ask(a, on("b").setGraceMillis(60_000)).lease();
    come(first);
    timers.pass(50_000);
    Lease there = b.finder.find(first.id().text(), ID).orElseThrow();
    come(a.finder.find(first.id().text()).orElseThrow());
    assertThat(a.leases.all()).isEmpty();
    timers.pass(50_000);
    assertThat(b.finder.find(first.id().text(), ID)).contains(there);
    timers.pass(20_000);
    assertThat(b.leases.all()).isEmpty();
    assertThat(b.capacity.free(gpu("b"))).isEqualTo(gpu("b").whole());
  }

  @Test
  void grant_ofAnotherServersGpu_recordsLeaseHolderAndQueueInOneCommit() throws Exception {
    Lease running = new Client(ID).ask(a, on("b")).lease();
    Hold hold = new Hold();
    a.leases.hold(running, hold);
    Client waiting = new Client("1" + ID.substring(1)).ask(a, on("b").setWaitMillis(HOUR_MILLIS));
    timers.pass(1000);
    long before = a.records.commits();
    a.leases.release(running, Principal.ANYONE, "released");
    timers.pass(100);
    assertThat(waiting.granted).isNotNull();
    assertThat(a.store.holderServer(waiting.lease().id(), "b")).isEqualTo("a");
    assertThat(a.records.count(RecordTypes.QUEUE)).isZero();
    assertThat(waiting.wasHeld).isTrue();
    assertThat(a.records.commits() - before).as("the release and the grant").isEqualTo(2);
  }

  @Test
  void lease_isRenewedElsewhereWhileAThirdServerHoldsIt_staysThere() {
    Ground c = new Ground(store, timers, "c", List.of(gpu("c")));
    c.come();
    timers.pass(1000);
    Lease atA = new Client(ID).ask(a, on("b").setGraceMillis(60_000)).lease();
    Hold first = new Hold();
    a.leases.hold(atA, first);
    timers.pass(100);
    Lease atC = c.finder.find(atA.id().text()).orElseThrow();
    c.leases.hold(atC, new Hold());
    timers.pass(100);
    a.leases.releaseHold(atA, first);
    assertThat(a.store.holderServer(atA.id(), "b")).isEqualTo("c");
    timers.pass(HOUR_MILLIS);
    assertThat(b.finder.find(atA.id().text())).isPresent();
    assertThat(atC.state()).isInstanceOf(LeaseState.Held.class);
  }

  @Test
  void lease_homeServerCannotBeTold_isLeftToItOnceTheRecordsCanBeWritten() {
    FullDisk disk = new FullDisk(store);
    Ground c = new Ground(disk, timers, "c", List.of(gpu("c")));
    c.come();
    timers.pass(1000);
    Lease atC = new Client(ID).ask(c, on("b").setGraceMillis(60_000)).lease();
    Hold hold = new Hold();
    c.leases.hold(atC, hold);
    timers.pass(100);
    disk.setFull(true);
    c.leases.releaseHold(atC, hold);
    timers.pass(120_000);
    assertThat(atC.state()).isInstanceOf(LeaseState.Returning.class);
    disk.setFull(false);
    timers.pass(1000);
    assertThat(c.leases.all()).isEmpty();
    timers.pass(50_000);
    assertThat(b.finder.find(atC.id().text())).as("it has its time from then on").isPresent();
    timers.pass(15_000);
    assertThat(b.leases.all()).isEmpty();
  }

  @Test
  void hold_cannotBeRecorded_isRecordedOnceTheRecordsCanBeWritten() {
    FullDisk disk = new FullDisk(store);
    Ground c = new Ground(disk, timers, "c", List.of(gpu("c")));
    c.come();
    timers.pass(1000);
    Lease atA = new Client(ID).ask(a, on("b")).lease();
    a.leases.hold(atA, new Hold());
    timers.pass(100);
    disk.setFull(true);
    c.leases.hold(c.finder.find(atA.id().text()).orElseThrow(), new Hold());
    timers.pass(3000);
    assertThat(b.store.holderServer(atA.id(), "b")).isEqualTo("a");
    disk.setFull(false);
    timers.pass(1100);
    assertThat(b.store.holderServer(atA.id(), "b")).isEqualTo("c");
  }

  /** As a call over REST does, which does not stay. */
  private void come(Lease lease) {
    Hold hold = new Hold();
    a.leases.hold(lease, hold);
    a.leases.releaseHold(lease, hold);
  }

  @Test
  void granted_theAnswerIsLost_whoAsksAgainIsToldOfTheSameLease() {
    Lease lost = new Client(ID).ask(a, on("b")).lease();
    a.die();
    timers.pass(1000);
    Client again = new Client(ID).ask(b, on("b").setResumed(true));
    assertThat(again.lease().id()).isEqualTo(lost.id());
    assertThat(again.granted.secret().reveal()).isEqualTo(ID);
  }

  @Test
  void ask_moreGpusThanAnyServerHas_areOfSeveralUnlessOneServerIsAskedFor() {
    assertThat(
            new Client("f" + ID.substring(1))
                .ask(a, LeaseRequest.newBuilder().setGpus(2).setOneServer(true))
                .refused)
        .isEqualTo(Cause.CAUSE_NO_MATCH);
    assertThat(new Client(ID).ask(a, LeaseRequest.newBuilder().setGpus(2)).lease().parts())
        .extracting(part -> part.gpu().server())
        .containsExactly("a", "b");
  }

  private static LeaseRequest.Builder on(String server) {
    return LeaseRequest.newBuilder().addSelectors(in("server", server));
  }

  private static Gpu gpu(String server) {
    return PlacementTest.gpu(server, 0, 8 * GIB);
  }

  private static GpuSelector in(String key, String value) {
    return GpuSelector.newBuilder()
        .setKey(key)
        .setOperator(GpuSelector.Operator.OPERATOR_IN)
        .addValues(value)
        .build();
  }
}
