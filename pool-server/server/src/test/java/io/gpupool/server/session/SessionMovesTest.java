// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.move.Destination;
import io.gpupool.server.lease.move.LeaseMoves;
import io.gpupool.server.lease.move.ServerKinds;
import io.gpupool.server.lease.store.FullDisk;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.worker.LinkedWorker;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.netty.channel.unix.FileDescriptor;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Moves of leases with sessions between two servers whose workers are stand-ins. */
class SessionMovesTest {
  private static final long GIB = 1L << 30;
  private static final LeaseLimits RESUMABLE = new LeaseLimits(0, 0, 0, 60_000);

  private final ManualTimers timers = new ManualTimers();
  private final FullDisk disk = new FullDisk(LocalStore.inMemory());
  private final Map<String, ServedSessions> servers = new HashMap<>();
  private final Gpu first = PlacementTest.gpu("a", 0, 8 * GIB);
  private final Gpu beside = PlacementTest.gpu("a", 1, 8 * GIB);
  private final Gpu second = PlacementTest.gpu("b", 0, 8 * GIB);
  private final Ground a = new Ground(disk, timers, "a", List.of(first, beside));
  private final Ground b = new Ground(disk, timers, "b", List.of(second));
  private final ServedSessions atA = serve("a", a);
  private final ServedSessions atB = serve("b", b);
  private final List<ClientHello> dialled = new ArrayList<>();
  private final Lease lease;
  private final List<MoveRecord> over = new ArrayList<>();

  SessionMovesTest() throws Exception {
    a.come();
    b.come();
    timers.pass(1000);
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(0.5), null, List.of());
    List<Placement.Offer> offers =
        a.capacity.snapshot().stream().filter(offer -> offer.gpu().equals(first)).toList();
    Outcome.Placed placed = (Outcome.Placed) Placement.place(requirements, "", offers);
    lease =
        a.grant(
                new LeaseSpec(requirements, 0, 0, Ground.HOLDER, Principal.ANYONE, "", RESUMABLE),
                placed.parts())
            .lease();
    a.leases.hold(lease, reason -> {});
  }

  private ServedSessions serve(String name, Ground ground) {
    ServedSessions served = new ServedSessions(ground, this::dial);
    servers.put(name, served);
    served.sessions.moves().start();
    return served;
  }

  private CompletableFuture<FileDescriptor> dial(
      String server, ClientHello hello, boolean resumable) {
    dialled.add(hello);
    // A server that dials itself gives the workers a pair of sockets.
    return new WorkerDialer(server, this::dial, servers.get(server).sessions).dial(server, hello);
  }

  private Session open() throws Exception {
    return atA.sessions.open(lease, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE);
  }

  /** Begins to move the lease; its source sees it a moment later. */
  private LeaseMoves.Begun move(String server, int gpu) throws Exception {
    LeaseMoves.Begun begun =
        new LeaseMoves(
                a.store, a.leases, a.capacity, timers, new ServerKinds.Kind("soft", "1", true))
            .begin(lease.id().text(), new Destination(server, gpu), Principal.ANYONE);
    atA.sessions.moves().whenOver(lease.id(), begun.id(), record -> record.ifPresent(over::add));
    timers.pass(100);
    return begun;
  }

  private static TextMessage.Builder moved(LeaseMoves.Begun move) {
    return TextMessage.ofType("moved")
        .put("move", move.id())
        .put("bytes", 4096)
        .put("pauseNanos", 7_000_000);
  }

  private static List<String> settings(LinkedWorker worker, String type, String key) {
    return worker.texts().stream()
        .filter(message -> message.type().equals(type))
        .map(message -> message.get(key).orElse("none"))
        .toList();
  }

  private MoveRecord record() {
    return b.store.moves().get(lease.id()).orElseThrow();
  }

  private void assertStays(Session session, LinkedWorker worker, String reason) {
    timers.pass(2000);
    assertThat(record().phase()).isEqualTo(MoveRecord.Phase.FAILED);
    assertThat(record().result().reason()).contains(reason);
    assertThat(over).singleElement().extracting(MoveRecord::phase).isEqualTo(record().phase());
    assertThat(session.state()).isEqualTo(Session.State.ATTACHED);
    assertThat(worker.isEnded()).isFalse();
    assertThat(lease.state().isAlive()).isTrue();
    assertThat(a.store.get(lease.id()).orElseThrow().isOn("a")).isTrue();
    assertThat(b.capacity.division(second).allocations()).isEmpty();
    assertThat(record().isUnderWay()).isFalse();
    assertThat(atA.sessions.moves().isLeaving(lease)).isFalse();
  }

  @Test
  void move_toAnotherServer_goesOnThereAsDisconnectedWithTheSameKeys() throws Exception {
    Session session = open();
    LinkedWorker source = atA.attach(session);
    List<String> ignored = source.told();
    LeaseMoves.Begun move = move("b", 0);
    assertThat(dialled).isNotEmpty().allMatch(ClientHello::moves);
    assertThat(dialled.getFirst().toString()).doesNotContain("moving");
    assertThat(atA.sessions.moves().isLeaving(lease)).isTrue();
    assertThat(source.told()).as("the target's worker starts").isEmpty();
    LinkedWorker target = LinkedWorker.starting(atB.workers);
    assertThat(source.told()).containsExactly("move", "descriptor");
    assertThat(target.told())
        .containsExactly(
            "assign", "descriptor", "descriptor", "descriptor", "restore", "descriptor");
    assertThat(atB.sessions.all()).as("before the commit").isEmpty();
    target.say(TextMessage.ofType("restored"));
    assertThat(target.texts()).extracting(TextMessage::type).containsOnlyOnce("restored");
    assertThat(b.store.get(lease.id()).orElseThrow().isOn("a")).isTrue();

    source.say(moved(move));
    assertThat(b.store.get(lease.id()).orElseThrow().isOn("b")).as("committed").isTrue();
    assertThat(settings(source, "moveEnd", "gone")).containsExactly("1");
    assertThat(source.isEnded()).isTrue();
    timers.pass(100);
    assertThat(over)
        .singleElement()
        .satisfies(record -> {
          assertThat(record.result().bytes()).isEqualTo(4096);
          assertThat(record.result().pauseNanos()).isEqualTo(7_000_000);
          assertThat(record.sessions()).containsExactly(session.id().toString());
        });
    assertThat(a.capacity.division(first).allocations()).as("its worker lives").hasSize(1);
    source.die();
    assertThat(a.capacity.division(first).allocations()).isEmpty();
    assertThat(lease.state()).isInstanceOf(LeaseState.Gone.class);
    assertThat(a.leases.all()).isEmpty();

    Session there = atB.sessions.find(session.id(), session.key()).orElseThrow();
    assertThat(there.state()).isEqualTo(Session.State.DISCONNECTED);
    assertThat(there.client()).isEqualTo(session.client());
    assertThat(there.lease()).isEqualTo(b.leases.get(lease.id()).orElseThrow());
    b.leases.hold(there.lease(), reason -> {});
    SessionKey key = atB.sessions.resume(there, Principal.ANYONE).orElseThrow();
    assertThat(atB.resume(there, key)).isEqualTo(ServerHello.ACCEPTED);
    assertThat(target.told()).containsExactly("restored", "attach", "descriptor");
    target.say(TextMessage.ofType("resumed"));
    assertThat(there.state()).isEqualTo(Session.State.ATTACHED);
    timers.pass(120_000);
    assertThat(there.state()).isEqualTo(Session.State.ATTACHED);
  }

  @Test
  void move_withinTheServer_replacesTheSessionAndItsHolderComesAnew() throws Exception {
    Session session = open();
    LinkedWorker source = atA.attach(session);
    boolean[] redirected = new boolean[1];
    a.leases.hold(
        lease,
        new LeaseHold() {
          @Override
          public void ended(String reason) {
            throw new AssertionError(reason);
          }

          @Override
          public void redirected() {
            redirected[0] = true;
          }
        });
    LeaseMoves.Begun move = move("a", 1);
    LinkedWorker target = LinkedWorker.starting(atA.workers);
    List<TextMessage> told = target.texts();
    assertThat(told.getFirst().get("restore")).hasValue("1");
    assertThat(told.getFirst().get("uuids")).hasValue(beside.uuid());
    assertThat(atA.sessions.all()).containsExactly(session);
    target.say(TextMessage.ofType("restored"));
    assertThat(target.texts()).extracting(TextMessage::type).containsOnlyOnce("restored");
    source.say(moved(move));
    assertThat(redirected[0]).isTrue();
    Lease now = a.finder.find(lease.id().text()).orElseThrow();
    assertThat(now).as("there is never none").isNotSameAs(lease);
    assertThat(now.parts().getFirst().gpu()).isEqualTo(beside);
    Session after = atA.sessions.find(session.id(), session.key()).orElseThrow();
    assertThat(after.state()).isEqualTo(Session.State.DISCONNECTED);
    source.die();
    assertThat(atA.sessions.all()).containsExactly(after);
    assertThat(a.capacity.division(first).allocations()).isEmpty();
    assertThat(a.capacity.division(beside).allocations()).hasSize(1);
    a.leases.hold(now, reason -> {});
    timers.pass(3_600_000);
    assertThat(now.state()).isInstanceOf(LeaseState.Held.class);
  }

  @Test
  void move_ofALeaseWithoutSessions_isOverAtOnce() throws Exception {
    LeaseMoves.Begun ignored = move("b", 0);
    assertThat(over)
        .singleElement()
        .extracting(MoveRecord::phase)
        .isEqualTo(MoveRecord.Phase.MOVED);
    timers.pass(2000);
    assertThat(record().isUnderWay()).isFalse();
    assertThat(a.capacity.division(first).allocations()).isEmpty();
    assertThat(b.leases.get(lease.id())).isPresent();
  }

  @Test
  void move_workerRefuses_goesOnHere() throws Exception {
    Session session = open();
    LinkedWorker source = atA.attach(session);
    LeaseMoves.Begun move = move("b", 0);
    LinkedWorker target = LinkedWorker.starting(atB.workers);
    source.say(
        TextMessage.ofType("moveFailed")
            .put("move", move.id())
            .put("reason", "memory is shared with another process"));
    assertThat(settings(source, "moveEnd", "gone")).containsExactly("0");
    timers.pass(100);
    assertThat(target.isEnded()).isTrue();
    assertThat(b.capacity.division(second).allocations()).as("its worker lives").hasSize(1);
    target.die();
    assertStays(session, source, "memory is shared with another process");
  }

  @Test
  void move_targetsWorkerCannotRestore_goesOnHere() throws Exception {
    Session session = open();
    LinkedWorker source = atA.attach(session);
    LeaseMoves.Begun ignored = move("b", 0);
    LinkedWorker target = LinkedWorker.starting(atB.workers);
    target.say(TextMessage.ofType("ended").put("reason", "out of memory"));
    timers.pass(100);
    assertThat(settings(source, "moveEnd", "gone")).containsExactly("0");
    target.die();
    assertStays(session, source, "out of memory");
  }

  @Test
  void move_targetsWorkerDies_goesOnHere() throws Exception {
    Session session = open();
    LinkedWorker source = atA.attach(session);
    LeaseMoves.Begun ignored = move("b", 0);
    LinkedWorker.starting(atB.workers).die();
    assertStays(session, source, "its worker has died");
    assertThat(settings(source, "moveEnd", "gone")).containsExactly("0");
  }

  @Test
  void move_isNotOverInTime_goesOnHere() throws Exception {
    Session session = open();
    LinkedWorker source = atA.attach(session);
    LeaseMoves.Begun ignored = move("b", 0);
    LinkedWorker target = LinkedWorker.starting(atB.workers);
    timers.pass(LeaseMoves.LIMIT_MILLIS);
    target.die();
    assertStays(session, source, "not over in time");
    assertThat(settings(source, "moveEnd", "gone")).containsExactly("0");
  }

  @Test
  void move_targetsServerDies_goesOnHere() throws Exception {
    Session session = open();
    LinkedWorker source = atA.attach(session);
    LeaseMoves.Begun ignored = move("b", 0);
    LinkedWorker target = LinkedWorker.starting(atB.workers);
    b.die();
    timers.pass(2000);
    assertThat(settings(source, "moveEnd", "gone")).containsExactly("0");
    target.die();
    assertStays(session, source, "server b is gone");
  }

  @Test
  void move_commitCannotBeWritten_staysPausedUntilItCan() throws Exception {
    Session session = open();
    LinkedWorker source = atA.attach(session);
    LeaseMoves.Begun move = move("b", 0);
    LinkedWorker ignored = LinkedWorker.starting(atB.workers);
    disk.setFull(true);
    source.say(moved(move));
    timers.pass(5000);
    assertThat(settings(source, "moveEnd", "gone")).isEmpty();
    assertThat(session.state()).isEqualTo(Session.State.ATTACHED);
    disk.setFull(false);
    timers.pass(1000);
    assertThat(settings(source, "moveEnd", "gone")).containsExactly("1");
    assertThat(over)
        .singleElement()
        .extracting(MoveRecord::phase)
        .isEqualTo(MoveRecord.Phase.MOVED);
  }

  @Test
  void move_sourcesServerIsStartedAnew_failsAndItsWorkersGoOn() throws Exception {
    Session session = open();
    LinkedWorker source = atA.attach(session);
    LeaseMoves.Begun ignored = move("b", 0);
    LinkedWorker target = LinkedWorker.starting(atB.workers);
    List<String> before = source.told();
    SessionMoves next = new SessionMoves(atA.sessions, a.leases, this::dial, timers, Runnable::run);
    next.start();
    timers.pass(1000);
    target.die();
    assertStays(session, source, "server a was started anew");
    assertThat(settings(source, "moveEnd", "gone")).isNotEmpty().containsOnly("0");
  }

  @Test
  void move_programLeavesMeanwhile_othersMove() throws Exception {
    Session leaving = open();
    LinkedWorker its = atA.attach(leaving);
    LeaseMoves.Begun move = move("b", 0);
    LinkedWorker target = LinkedWorker.starting(atB.workers);
    leaving.end("its program has ended");
    its.die();
    timers.pass(200);
    assertThat(over)
        .singleElement()
        .satisfies(record -> {
          assertThat(record.phase()).isEqualTo(MoveRecord.Phase.MOVED);
          assertThat(record.sessions()).isEmpty();
        });
    assertThat(target.isEnded()).isTrue();
    target.die();
    assertThat(atB.sessions.all()).isEmpty();
    assertThat(move.to().gpu()).isEqualTo(second);
  }

  @Test
  void move_programLeavesThatHasMoved_isNotCommittedWithIt() throws Exception {
    Session leaving = open();
    Session staying = open();
    LinkedWorker its = atA.attach(leaving);
    LinkedWorker other = atA.attach(staying);
    LeaseMoves.Begun move = move("b", 0);
    LinkedWorker.starting(atB.workers);
    LinkedWorker.starting(atB.workers);
    its.say(moved(move));
    leaving.end("its program has ended");
    other.say(moved(move));
    assertThat(record().phase()).as("its worker lives").isEqualTo(MoveRecord.Phase.PREPARING);
    its.die();
    timers.pass(200);
    assertThat(record().phase()).isEqualTo(MoveRecord.Phase.MOVED);
    assertThat(record().sessions()).containsExactly(staying.id().toString());
    assertThat(atB.sessions.serves(leaving.id())).isFalse();
  }

  @Test
  void move_leaseEndsMeanwhile_bothEnd() throws Exception {
    Session session = open();
    LinkedWorker source = atA.attach(session);
    LeaseMoves.Begun ignored = move("b", 0);
    LinkedWorker target = LinkedWorker.starting(atB.workers);
    a.leases.release(lease, Principal.ANYONE, "released");
    timers.pass(1000);
    assertThat(source.isEnded()).isTrue();
    assertThat(target.isEnded()).isTrue();
    source.die();
    target.die();
    timers.pass(2000);
    assertThat(a.capacity.division(first).allocations()).isEmpty();
    assertThat(b.capacity.division(second).allocations()).isEmpty();
    assertThat(b.store.moves().all()).isEmpty();
    assertThat(a.records.all(RecordTypes.GRANTS)).isEmpty();
  }

  @Test
  void accept_anotherKeyOrMove_isRefused() throws Exception {
    Session session = open();
    LinkedWorker ignored = atA.attach(session);
    LeaseMoves.Begun move = move("b", 0);
    SessionKey guessed = SessionKey.random(new SecureRandom());
    assertThat(atB.connect(hello(session, move.id(), guessed)).status())
        .isEqualTo(ServerHello.BAD_SESSION);
    assertThat(atB.connect(hello(session, "other", guessed)).status())
        .as("as if it came too early")
        .isEqualTo(ServerHello.BUSY);
    assertThat(atB.workers.started()).as("the source's own").isEqualTo(1);
    assertThat(atB.connect(hello(session, move.id(), guessed), true).status())
        .as("by the socket of the machine")
        .isEqualTo(ServerHello.BAD_SESSION);
  }

  private ClientHello hello(Session session, String move, SessionKey key) {
    return ClientHello.moving(
        1, 1, session.id(), key, MovingSession.of(session, move, timers).message());
  }

  @Test
  void move_again_goesBack() throws Exception {
    LeaseMoves.Begun ignored = move("b", 0);
    timers.pass(2000);
    Lease there = b.leases.get(lease.id()).orElseThrow();
    LeaseMoves.Begun back = move("a", 0);
    timers.pass(2000);
    assertThat(there.state()).isInstanceOf(LeaseState.Gone.class);
    assertThat(back.from().gpu()).isEqualTo(second);
    assertThat(a.leases.get(lease.id()).orElseThrow().isRemote()).isFalse();
    assertThat(a.capacity.division(first).allocations()).hasSize(1);
    assertThat(b.capacity.division(second).granted(null)).isEqualTo(Share.NONE);
    assertThatThrownBy(() -> move("a", 0)).hasMessageContaining("already");
    assertThat(Optional.of(over.size())).hasValue(2);
  }
}
