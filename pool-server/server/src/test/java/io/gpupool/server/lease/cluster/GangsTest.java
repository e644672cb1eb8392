// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.control.v1.Cause;
import io.gpupool.control.v1.Gang;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.queue.QueueClient;
import io.gpupool.server.lease.queue.QueueEntry;
import io.gpupool.server.lease.queue.RequestIdentity;
import io.gpupool.server.lease.store.FullDisk;
import io.gpupool.server.lease.store.QueueStore;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseRequestValidator;
import io.gpupool.server.records.Quota;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.rejection.InvalidFieldException;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.LocalStore;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Gangs of leases: on one server, and with members at two. */
class GangsTest {
  private static final long GIB = 1L << 30;
  private static final long HOUR_MILLIS = 3_600_000;

  private final ManualTimers timers = new ManualTimers();
  private final FullDisk disk = new FullDisk(LocalStore.inMemory());
  private final Ground a = new Ground(disk, timers, "a", List.of(gpu("a")));
  private final Ground b = new Ground(disk, timers, "b", List.of(gpu("b")));
  private int asked;

  GangsTest() {
    a.come();
    b.come();
    timers.pass(1000);
  }

  private static Gpu gpu(String server) {
    return PlacementTest.gpu(server, 0, 8 * GIB);
  }

  /** A client that writes down what it is told, and holds what it gets. */
  private final class Member implements QueueClient, LeaseHold {
    final Ground server;
    final String id = String.format("%032x", ++asked);
    String reason = "";
    @Nullable Lease lease;
    @Nullable Cause refused;

    @SuppressWarnings("NullAway.Init") // set when it asks
    QueueEntry entry;

    Member(Ground server, LeaseRequest.Builder request) {
      this.server = server;
      LeaseRequest message = request.setRequestId(id).build();
      try {
        entry =
            server.queue.ask(
                LeaseRequestValidator.check(
                    message, new Principal(message.getTenant(), Role.ADMIN, null)),
                this,
                RequestIdentity.of(message).orElse(null));
      } catch (InvalidFieldException e) {
        throw new AssertionError(e);
      }
    }

    @Override
    public LeaseHold hold() {
      return this;
    }

    @Override
    public void ended(String why) {
      reason = why;
    }

    @Override
    public void queued(int place, RejectionReason why) {
      reason = why.text();
    }

    @Override
    public void granted(GrantedLease granted) {
      assertThat(lease).isNull();
      assertThat(granted.secret().reveal()).isEqualTo(id);
      lease = granted.lease();
    }

    @Override
    public void refused(LeaseRefusal refusal) {
      refused = refusal.reason().cause();
      reason = refusal.text();
    }

    boolean isGranted() {
      return lease != null;
    }

    String why() {
      return server.queue.here().stream()
          .filter(position -> position.request().id().equals(entry.id()))
          .map(position -> position.reason().text())
          .findFirst()
          .orElse("");
    }

    /** Leaves its lease, which ends a second later. */
    void leave() {
      if (lease == null) {
        server.queue.withdraw(entry);
      } else {
        server.leases.releaseHold(lease, this);
      }
    }
  }

  private static LeaseRequest.Builder member(String gang, int size, double fraction) {
    return LeaseRequest.newBuilder()
        .setFraction(fraction)
        .setWaitMillis(HOUR_MILLIS)
        .setGang(Gang.newBuilder().setName(gang).setSize(size));
  }

  @Test
  void ask_firstOfTwo_waitsUntilTheOtherHasAskedAtAnotherServer() {
    Member first = new Member(a, member("train", 2, 1));
    timers.pass(1000);
    assertThat(first.isGranted()).isFalse();
    assertThat(first.why())
        .isEqualTo("gang 'train' gets its 2 leases together, and 1 of them has been asked for");
    Member second = new Member(b, member("train", 2, 1));
    timers.pass(1000);
    assertThat(first.isGranted()).isTrue();
    assertThat(second.isGranted()).isTrue();
    assertThat(a.records.count(RecordTypes.QUEUE)).isZero();
    timers.pass(HOUR_MILLIS);
    assertThat(a.records.count(RecordTypes.GRANTS)).as("both are held").isEqualTo(2);
    second.leave();
    timers.pass(5000);
    assertThat(a.records.count(RecordTypes.GRANTS)).isEqualTo(1);
    first.leave();
    timers.pass(5000);
    assertThat(a.records.count(RecordTypes.GRANTS)).isZero();
  }

  @Test
  void ask_roomForOneOfTwo_neitherIsGrantedUntilThereIsRoomForBoth() {
    Member other = new Member(a, LeaseRequest.newBuilder().setFraction(1));
    Member first = new Member(b, member("train", 2, 1));
    Member second = new Member(b, member("train", 2, 1));
    timers.pass(1000);
    assertThat(other.isGranted()).isTrue();
    assertThat(first.isGranted() || second.isGranted()).isFalse();
    assertThat(second.why())
        .isEqualTo("gang 'train' gets 2 leases together, and there is room for 1 of them");
    Member small = new Member(a, LeaseRequest.newBuilder().setFraction(0.5));
    assertThat(small.isGranted()).as("a gang that cannot start takes no room").isTrue();
    small.leave();
    other.leave();
    timers.pass(5000);
    assertThat(first.isGranted()).isTrue();
    assertThat(second.isGranted()).isTrue();
  }

  @Test
  void gangs_thatWantMoreThanThereIs_neverHoldHalfEach() {
    int runs = 0;
    for (int seed = 0; seed < 20; seed++) {
      Random random = new Random(seed);
      List<Member> all = new ArrayList<>();
      Map<Member, String> gangs = new HashMap<>();
      for (int i = 0; i < 8; i++) {
        String gang = "s" + seed + "-g" + i % 4;
        Member member = new Member(random.nextBoolean() ? a : b, member(gang, 2, 0.75));
        all.add(member);
        gangs.put(member, gang);
        timers.pass(random.nextInt(50));
      }
      while (!all.isEmpty()) {
        timers.pass(2000);
        Map<String, Long> held = new HashMap<>();
        all.stream()
            .filter(Member::isGranted)
            .forEach(member -> held.merge(gangs.get(member), 1L, Long::sum));
        assertThat(held.values()).as("seed %d", seed).isNotEmpty().allMatch(count -> count == 2);
        String done = held.keySet().iterator().next();
        all.stream().filter(member -> gangs.get(member).equals(done)).forEach(Member::leave);
        all.removeIf(member -> gangs.get(member).equals(done));
        runs++;
      }
      timers.pass(5000);
    }
    assertThat(runs).isEqualTo(80);
  }

  @Test
  void member_thatStartsAgain_getsItsLeaseByItself() {
    Member first = new Member(a, member("train", 2, 0.5));
    Member second = new Member(b, member("train", 2, 0.5));
    timers.pass(1000);
    second.leave();
    timers.pass(5000);
    Member again = new Member(b, member("train", 2, 0.5));
    timers.pass(1000);
    assertThat(first.isGranted()).isTrue();
    assertThat(again.isGranted()).isTrue();
  }

  @Test
  void ask_sameNameOfAnotherTenant_isAnotherGang() {
    Member first = new Member(a, member("train", 2, 0.5).setTenant("blue"));
    Member second = new Member(b, member("train", 2, 0.5).setTenant("red"));
    timers.pass(1000);
    assertThat(first.isGranted() || second.isGranted()).isFalse();
  }

  @Test
  void member_thatWaitsTooLong_isRefusedAndTheOtherWaitsOn() {
    Member first = new Member(a, member("train", 2, 0.5).setWaitMillis(60_000));
    timers.pass(61_000);
    assertThat(first.refused).isEqualTo(Cause.CAUSE_NO_CAPACITY);
    assertThat(first.reason).contains("waited 1m").contains("gang 'train'");
    Member second = new Member(b, member("train", 2, 0.5));
    timers.pass(1000);
    assertThat(second.isGranted()).isFalse();
    assertThat(second.why()).contains("1 of them has been asked for");
  }

  @Test
  void member_whoseClientHasGone_keepsTheOthersWaiting() {
    Member gone = new Member(a, member("train", 2, 0.5));
    timers.pass(1000);
    gone.leave();
    Member second = new Member(b, member("train", 2, 0.5));
    timers.pass(QueueStore.ABSENT_MILLIS + 5000);
    assertThat(second.isGranted()).isFalse();
    assertThat(a.records.count(RecordTypes.GRANTS)).isZero();
  }

  @Test
  void gang_thatCannotBeRecorded_isNotGrantedByHalf() {
    Member first = new Member(a, member("train", 2, 0.5));
    Member second = new Member(b, member("train", 2, 0.5));
    disk.setFull(true);
    timers.pass(500);
    disk.setFull(false);
    timers.pass(1000);
    assertThat(a.records.count(RecordTypes.GRANTS)).isIn(0, 2);
    assertThat(first.isGranted()).isEqualTo(second.isGranted());
  }

  @Test
  void gang_largerThanTheQuota_isRefusedAsAWhole() throws Exception {
    a.tenants.create(Principal.POOL, "blue", new Quota(1000L, null, null, null));
    Member first = new Member(a, member("train", 2, 0.75).setTenant("blue"));
    Member second = new Member(a, member("train", 2, 0.75).setTenant("blue"));
    timers.pass(1000);
    assertThat(first.refused).isEqualTo(Cause.CAUSE_DENIED);
    assertThat(second.refused).isEqualTo(Cause.CAUSE_DENIED);
    assertThat(a.records.count(RecordTypes.GRANTS)).isZero();
  }

  @Test
  void ask_gangThatIsNotPossible_saysWhatIs() {
    assertInvalid(member("", 2, 1), "gang.name is ''");
    assertInvalid(member("x", 0, 1), "gang.size is 0; give 1 to 24");
    assertInvalid(member("x", 25, 1), "gang.size is 25; give 1 to 24");
    assertInvalid(member("x", 11, 1).setGpus(8), "gang.size is 11; give 1 to 10");
    assertInvalid(member("x", 2, 1).setWaitMillis(0), "wait_millis");
  }

  private static void assertInvalid(LeaseRequest.Builder request, String text) {
    assertThatThrownBy(() -> LeaseRequestValidator.check(request.build(), Principal.ANYONE))
        .isInstanceOfSatisfying(
            InvalidFieldException.class, e -> assertThat(e.reason().text()).contains(text));
  }
}
