// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.Cause;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.limits.QueueLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RejectionReason;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LeaseQueueTest {
  private static final long GIB = 1L << 30;
  private static final long HOUR_MILLIS = 3_600_000;

  private final Gpu gpu = PlacementTest.gpu("host:7642", 0, 8 * GIB);
  private final Ground ground = new Ground(List.of(gpu));
  private final ManualTimers timers = ground.timers;
  private final Capacity capacity = ground.capacity;
  private final LeaseService leases = ground.leases;
  private final LeaseQueue queue = ground.queue;

  /** Writes down what it is told. */
  private static final class Asker implements QueueClient {
    final List<Integer> places = new ArrayList<>();

    @SuppressWarnings("NullAway.Init") // set when it asks
    QueueEntry entry;

    @SuppressWarnings("NullAway.Init") // set when it is granted
    Lease lease;

    @SuppressWarnings("NullAway.Init") // set when it is refused
    Cause cause;

    String reason = "";
    boolean wasHeld;

    @Override
    public LeaseHold hold() {
      return reason -> {};
    }

    @Override
    public void queued(int place, RejectionReason why) {
      places.add(place);
      reason = why.text();
    }

    @Override
    public void granted(GrantedLease granted) {
      wasHeld = granted.lease().isHeldHere();
      Ground.dropHolds(granted.lease());
      assertThat(lease).isNull();
      lease = granted.lease();
    }

    @Override
    public void refused(LeaseRefusal refusal) {
      assertThat(cause).isNull();
      cause = refusal.reason().cause();
      reason = refusal.text();
    }
  }

  @Test
  void ask_noRoomAndNoWait_isRefusedWithWhatIsFreeAndWhoHoldsTheRest() {
    ask(0.75, 0, 0);
    Asker second = ask(new GpuRequirements.Size.Memory(4 * GIB), 0, 0);
    assertThat(second.cause).isEqualTo(Cause.CAUSE_NO_CAPACITY);
    assertThat(second.reason)
        .isEqualTo(
            "asked for 1 GPU with 4.0 GiB; largest free fraction is 2.0 GiB and 25 % compute on"
                + " GPU 0 of host:7642, in use by lease L1 (pid 123"
                + " python on box, 6.0 GiB and 75 % compute)");
    assertThat(second.places).isEmpty();
    assertThat(queue.here()).isEmpty();
  }

  @Test
  void ask_moreThanAnyGpuHas_isRefusedAtOnceHoweverLongItWouldWait() {
    Asker asker = ask(new GpuRequirements.Size.Memory(9 * GIB), 0, HOUR_MILLIS);
    assertThat(asker.cause).isEqualTo(Cause.CAUSE_NO_MATCH);
    assertThat(asker.reason).contains("9.0 GiB").contains("8.0 GiB");
  }

  @Test
  void waiting_leaseEnds_theNextIsGrantedAndTheOthersMoveUp() {
    Asker holder = ask(1, 0, 0);
    Asker first = ask(1, 0, HOUR_MILLIS);
    Asker second = ask(1, 0, HOUR_MILLIS);
    assertThat(first.places).containsExactly(1);
    assertThat(second.places).containsExactly(2);
    assertThat(second.reason).contains("L1");
    leases.end(holder.lease, "released");
    assertThat(first.lease).isNotNull();
    assertThat(second.lease).isNull();
    assertThat(second.places).containsExactly(2, 1);
    assertThat(queue.here()).extracting(position -> position.request().id()).containsExactly("Q3");
  }

  @Test
  void waiting_higherPriorityComes_goesFirst() {
    Asker holder = ask(1, 0, 0);
    Asker low = ask(1, 0, HOUR_MILLIS);
    Asker high = ask(1, 10, HOUR_MILLIS);
    assertThat(low.places).containsExactly(1, 2);
    leases.end(holder.lease, "released");
    assertThat(high.lease).isNotNull();
    assertThat(low.lease).isNull();
  }

  @Test
  void waiting_tooLong_isRefusedWithHowLongAndWhy() {
    Asker holder = ask(1, 0, 0);
    Asker asker = ask(1, 0, 90_000);
    Asker other = ask(1, 0, HOUR_MILLIS);
    timers.pass(90_000);
    assertThat(asker.cause).isEqualTo(Cause.CAUSE_NO_CAPACITY);
    assertThat(asker.reason).contains("waited 1m30s").contains("lease L1");
    assertThat(other.places).containsExactly(2, 1);
    leases.end(holder.lease, "released");
    assertThat(asker.lease).isNull();
    assertThat(other.lease).isNotNull();
  }

  @Test
  void withdraw_whileWaiting_isForgottenAndTheOthersMoveUp() {
    Asker holder = ask(1, 0, 0);
    Asker gone = ask(1, 0, HOUR_MILLIS);
    Asker other = ask(1, 0, HOUR_MILLIS);
    queue.withdraw(gone.entry);
    queue.withdraw(gone.entry);
    assertThat(other.places).containsExactly(2, 1);
    leases.end(holder.lease, "released");
    assertThat(gone.lease).isNull();
    assertThat(gone.cause).isNull();
    assertThat(other.lease).isNotNull();
    timers.pass(2 * HOUR_MILLIS);
    assertThat(gone.cause).isNull();
  }

  @Test
  void cancel_whileWaiting_isToldAndTheOthersMoveUp() throws Exception {
    Asker holder = ask(1, 0, 0);
    Asker gone = ask(1, 0, HOUR_MILLIS);
    Asker other = ask(1, 0, HOUR_MILLIS);
    assertThat(queue.find("Q1")).as("granted already").isEmpty();
    queue.cancel(queue.find("Q2").orElseThrow(), new RejectionReason.Cancelled("ann", ""));
    assertThat(gone.cause).isEqualTo(Cause.CAUSE_CANCELLED);
    assertThat(gone.reason).contains("cancelled by ann");
    assertThat(other.places).containsExactly(2, 1);
    leases.end(holder.lease, "released");
    assertThat(gone.lease).isNull();
    assertThat(other.lease).isNotNull();
  }

  @Test
  void resume_beforeTheFirstConnectionIsSeenToBeGone_keepsItsPlaceAndItsLimit() {
    Asker holder = ask(1, 0, 0);
    Asker first = askAgain(false);
    Asker other = ask(1, 0, HOUR_MILLIS);
    timers.pass(60_000);
    Asker again = askAgain(true);
    timers.pass(1000);
    assertThat(again.entry.id()).isEqualTo(first.entry.id());
    assertThat(again.places).containsExactly(1);
    assertThat(first.cause)
        .as("another connection resumed the request")
        .isEqualTo(Cause.CAUSE_DRAINING);
    queue.withdraw(first.entry);
    assertThat(queue.here()).hasSize(2);
    timers.pass(30_000);
    assertThat(again.cause).as("90 s have passed since it was made").isNotNull();
    leases.end(holder.lease, "released");
    assertThat(other.lease).isNotNull();
  }

  @Test
  void resume_ofARequestThatWasGranted_isToldOfTheLeaseThatIsHeldAgain() {
    Asker first = askAgain(false);
    Asker again = askAgain(true);
    assertThat(again.lease).isSameAs(first.lease);
    assertThat(again.wasHeld).isTrue();
    assertThat(leases.all()).hasSize(1);
  }

  private Asker askAgain(boolean isResumed) {
    Asker asker = new Asker();
    GpuRequirements all =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(1), null, List.of());
    LeaseRequest message =
        LeaseRequest.newBuilder().setRequestId("a".repeat(32)).setResumed(isResumed).build();
    asker.entry =
        queue.ask(
            new LeaseSpec(all, 0, 90_000, Ground.HOLDER, Principal.ANYONE, ""),
            asker,
            RequestIdentity.of(message).orElse(null));
    return asker;
  }

  @Test
  void waiting_smallOnesBehindALargeOne_passUntilItsPatienceEnds() {
    Asker half = ask(0.5, 0, 0);
    Asker large = ask(1, 0, HOUR_MILLIS);
    Asker small = ask(0.25, 0, 0);
    assertThat(small.lease).as("there is room, and the large one is new").isNotNull();
    timers.pass(60_000);
    Asker late = ask(0.25, 0, HOUR_MILLIS);
    assertThat(late.lease).isNull();
    assertThat(late.reason).contains("waited longer (Q2)");
    leases.end(half.lease, "released");
    assertThat(large.lease).isNull();
    assertThat(late.lease).isNull();
    leases.end(small.lease, "released");
    assertThat(large.lease).isNotNull();
    leases.end(large.lease, "released");
    assertThat(late.lease).isNotNull();
  }

  @Test
  void drain_refusesAllWhoWaitAndWhoeverComes() {
    Asker holder = ask(1, 0, 0);
    Asker waiting = ask(1, 0, HOUR_MILLIS);
    ground.drains.endAll();
    assertThat(waiting.cause).isEqualTo(Cause.CAUSE_DRAINING);
    assertThat(leases.all()).isEmpty();
    assertThat(capacity.free(gpu)).isEqualTo(gpu.whole());
    assertThat(ask(0.1, 0, HOUR_MILLIS).cause).isEqualTo(Cause.CAUSE_DRAINING);
    assertThat(holder.cause).isNull();
  }

  @Test
  void ask_placesOfTheTokenAndTheTenantAreTaken_isRefusedAndOthersWait() {
    ask(1, 0, 0);
    Principal first = user("blue", "1");
    List<QueueEntry> blue = new ArrayList<>();
    for (int i = 0; i < QueueLimits.DEFAULT.perCaller(); i++) {
      Asker waiting = ask(first);
      assertThat(waiting.cause).isNull();
      blue.add(waiting.entry);
    }
    Asker refused = ask(first);
    assertThat(refused.cause).isEqualTo(Cause.CAUSE_NO_CAPACITY);
    assertThat(refused.reason)
        .contains("'blue/1111")
        .contains("' has 512 requests in the queue")
        .contains("half of the places of its tenant");
    Principal second = user("blue", "2");
    for (int i = 0; i < QueueLimits.DEFAULT.perCaller(); i++) {
      Asker waiting = ask(second);
      assertThat(waiting.cause).isNull();
      blue.add(waiting.entry);
    }
    assertThat(ask(user("blue", "3")).reason).contains("tenant 'blue' has 1024 requests");
    assertThat(ask(user("green", "4")).cause).isNull();
    blue.forEach(queue::withdraw);
    assertThat(ask(first).cause).isNull();
  }

  @Test
  void ask_allPlacesAreTakenByOthers_everyTenantHasSomeYet() {
    ask(1, 0, 0);
    for (int tenant = 0; tenant < 8; tenant++) {
      for (int i = 0; i < QueueLimits.DEFAULT.perTenant(); i++) {
        ask(user("t" + tenant, Integer.toString(i % 2)));
      }
    }
    Principal late = user("late", "9");
    for (int i = 0; i < QueueLimits.DEFAULT.guaranteed(); i++) {
      assertThat(ask(late).cause).isNull();
    }
    assertThat(ask(late).reason).contains("all 8192 places in this server's queue are taken");
  }

  private static Principal user(String tenant, String digit) {
    return new Principal(tenant, Role.USER, new TokenHash(digit.repeat(64)));
  }

  private Asker ask(Principal principal) {
    Asker asker = new Asker();
    GpuRequirements all =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(1), null, List.of());
    asker.entry =
        queue.ask(
            new LeaseSpec(all, 0, HOUR_MILLIS, Ground.HOLDER, principal, principal.tenant()),
            asker,
            null);
    return asker;
  }

  private Asker ask(double part, int priority, long waitMillis) {
    return ask(new GpuRequirements.Size.Fraction(part), priority, waitMillis);
  }

  private Asker ask(GpuRequirements.Size size, int priority, long waitMillis) {
    Asker asker = new Asker();
    GpuRequirements requirements = new GpuRequirements(1, size, null, List.of());
    asker.entry =
        queue.ask(
            new LeaseSpec(requirements, priority, waitMillis, Ground.HOLDER, Principal.ANYONE, ""),
            asker,
            null);
    return asker;
  }
}
