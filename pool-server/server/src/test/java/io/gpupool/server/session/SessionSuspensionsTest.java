// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.image.SessionImages;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.suspend.LeaseResumptions;
import io.gpupool.server.lease.suspend.LeaseSuspensions;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.records.SuspensionRecord.Phase;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.worker.LinkedWorker;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.TextMessage;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Suspensions and resumptions of leases whose workers are stand-ins. */
class SessionSuspensionsTest {
  private static final long GIB = 1L << 30;
  private static final byte[] STATE = "all that a session has".getBytes(StandardCharsets.UTF_8);

  @TempDir Path folder;

  private final ManualTimers timers = new ManualTimers();
  private final Gpu gpu = PlacementTest.gpu("host:7642", 0, 8 * GIB);
  private final Gpu other = PlacementTest.gpu("host:7642", 1, 8 * GIB);
  private final Ground ground =
      new Ground(
          io.gpupool.server.state.LocalStore.inMemory(), timers, List.of(gpu, other), "host:7642");
  private final Queue<Runnable> control = new ConcurrentLinkedQueue<>();
  private ServedSessions served;
  private LeaseSuspensions requests;
  private Lease lease;

  @BeforeEach
  void start() throws Exception {
    served = serve();
    requests = new LeaseSuspensions(ground.store, timers);
    lease = grant(new LeaseLimits(0, 0, 0, 60_000));
  }

  private ServedSessions serve() throws IOException {
    ServedSessions sessions =
        new ServedSessions(ground, control::add, new SessionImages(folder, new byte[32]));
    sessions
        .sessions
        .suspensions()
        .start(new LeaseResumptions(ground.leases, ground.queue, ground.capacity, timers));
    return sessions;
  }

  private Lease grant(LeaseLimits limits) throws Exception {
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(0.5), null, List.of());
    List<Placement.Offer> offers =
        ground.capacity.snapshot().stream().filter(offer -> offer.gpu().equals(gpu)).toList();
    Outcome.Placed placed = (Outcome.Placed) Placement.place(requirements, "", offers);
    Lease granted =
        ground
            .grant(
                new LeaseSpec(requirements, 0, 0, Ground.HOLDER, Principal.ANYONE, "", limits),
                placed.parts())
            .lease();
    ground.leases.hold(granted, reason -> {});
    return granted;
  }

  private void pass(long millis) {
    runControl();
    timers.pass(millis);
    runControl();
  }

  private void runControl() {
    for (Runnable task = control.poll(); task != null; task = control.poll()) {
      task.run();
    }
  }

  private Session open() throws Exception {
    return served.sessions.open(lease, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE);
  }

  private LinkedWorker attach(Session session) {
    LinkedWorker worker = served.attach(session);
    runControl();
    List<String> ignored = worker.told();
    return worker;
  }

  private String suspend(boolean wakesOnCall) throws Exception {
    String id = requests.begin(lease.id().text(), wakesOnCall, Principal.ANYONE).id();
    pass(100);
    return id;
  }

  /** Has a worker write its session down as the server has asked it to. */
  private void write(LinkedWorker worker, String suspension) throws Exception {
    List<Object> sent = worker.sent();
    TextMessage move = (TextMessage) sent.get(0);
    assertThat(move.type()).isEqualTo("move");
    assertThat(move.get("saved")).isPresent();
    try (AutoClosing to = new AutoClosing((FileDescriptor) sent.get(1))) {
      ByteBuffer bytes = ByteBuffer.allocateDirect(STATE.length).put(0, STATE);
      assertThat(to.fd().write(bytes, 0, STATE.length)).isEqualTo(STATE.length);
    }
    worker.say(
        TextMessage.ofType("moved")
            .put("move", suspension)
            .put("bytes", STATE.length)
            .put("pauseNanos", 5_000_000));
  }

  /** Has a worker refuse to write its session down; returns once the image is deleted. */
  private void refuse(LinkedWorker worker, String suspension, String reason) throws Exception {
    // The image is begun by a thread of its own.
    awaitFiles(1);
    List<Object> sent = worker.sent();
    ((FileDescriptor) sent.getLast()).close();
    worker.say(TextMessage.ofType("moveFailed").put("move", suspension).put("reason", reason));
    awaitPhase(Phase.FAILED);
    awaitFiles(0);
  }

  private void awaitFiles(long count) {
    await()
        .untilAsserted(() -> {
          pass(60);
          assertThat(files()).isEqualTo(count);
        });
  }

  private record AutoClosing(FileDescriptor fd) implements AutoCloseable {
    @Override
    public void close() throws IOException {
      fd.close();
    }
  }

  private SuspensionRecord record() {
    return ground.store.suspensions().get(lease.id()).orElseThrow();
  }

  private void awaitPhase(Phase phase) {
    await()
        .untilAsserted(() -> {
          pass(60);
          assertThat(record().phase()).isEqualTo(phase);
        });
  }

  private long files() throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.count();
    }
  }

  private Session suspended(boolean wakesOnCall) throws Exception {
    Session session = open();
    LinkedWorker worker = attach(session);
    String id = suspend(wakesOnCall);
    write(worker, id);
    awaitPhase(Phase.SAVED);
    worker.die();
    awaitPhase(Phase.SUSPENDED);
    return session;
  }

  /** Restores the only session that is to be restored; returns its worker. */
  private LinkedWorker restore() throws Exception {
    LinkedWorker worker = LinkedWorker.starting(served.workers);
    runControl();
    List<Object> sent = worker.sent();
    TextMessage assign = (TextMessage) sent.get(0);
    assertThat(assign.get("restore")).hasValue("1");
    FileDescriptor from = (FileDescriptor) sent.getLast();
    ByteBuffer bytes = ByteBuffer.allocateDirect(100);
    assertThat(from.read(bytes, 0, STATE.length)).isEqualTo(STATE.length);
    byte[] read = new byte[STATE.length];
    bytes.get(0, read);
    assertThat(read).isEqualTo(STATE);
    from.close();
    return worker;
  }

  @Test
  void suspension_savesTheSession_andFreesTheShareOnceItsWorkerIsDead() throws Exception {
    Session session = open();
    LinkedWorker worker = attach(session);
    String id = suspend(false);
    write(worker, id);
    awaitPhase(Phase.SAVED);
    assertThat(worker.isEnded()).isTrue();
    assertThat(ground.capacity.division(gpu).allocations()).as("its worker lives").hasSize(1);
    worker.die();
    awaitPhase(Phase.SUSPENDED);
    assertThat(ground.capacity.division(gpu).allocations()).isEmpty();
    assertThat(lease.state()).isInstanceOf(LeaseState.Held.class);
    assertThat(lease.parts().getFirst().share()).isEqualTo(Share.NONE);
    assertThat(served.sessions.all()).isEmpty();
    assertThat(record().sessions()).containsExactly(session.id().toString());
    assertThat(served.sessions.suspensions().find(session.id(), session.key())).isPresent();
    assertThat(files()).isEqualTo(1);
  }

  @Test
  void resumption_givesTheShareAndTheSessionBack() throws Exception {
    Session session = suspended(false);
    SuspensionRecord ignored = requests.resume(lease.id().text(), Principal.ANYONE);
    pass(200);
    assertThat(record().phase()).isEqualTo(Phase.RESUMING);
    assertThat(ground.capacity.division(gpu).allocations()).hasSize(1);
    LinkedWorker worker = restore();
    worker.say(TextMessage.ofType("restored"));
    pass(100);
    assertThat(ground.store.suspensions().get(lease.id())).isEmpty();
    Session after = served.sessions.find(session.id(), session.key()).orElseThrow();
    assertThat(after.state()).isEqualTo(Session.State.DISCONNECTED);
    assertThat(after.client()).isEqualTo(session.client());
    assertThat(lease.parts().getFirst().share().memoryBytes()).isEqualTo(4 * GIB);
    assertThat(files()).isZero();
  }

  @Test
  void resumption_itsGpuIsTaken_isOnAnotherOne() throws Exception {
    Session session = suspended(false);
    Lease first = grant(LeaseLimits.NONE);
    Lease second = grant(LeaseLimits.NONE);
    assertThat(List.of(first, second)).allMatch(of -> of.parts().getFirst().gpu().equals(gpu));
    SuspensionRecord ignored = requests.resume(lease.id().text(), Principal.ANYONE);
    pass(200);
    restore().say(TextMessage.ofType("restored"));
    pass(100);
    Session after = served.sessions.find(session.id(), session.key()).orElseThrow();
    assertThat(after.lease().parts().getFirst().gpu()).isEqualTo(other);
    assertThat(ground.leases.get(lease.id())).hasValue(after.lease());
    assertThat(ground.capacity.division(other).allocations()).hasSize(1);
  }

  @Test
  void resumption_withoutRoom_waitsInTheQueueUntilThereIs() throws Exception {
    Session session = suspended(true);
    Lease first = grant(LeaseLimits.NONE);
    Lease second = grant(LeaseLimits.NONE);
    GpuRequirements all =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(1), null, List.of());
    Outcome.Placed placed = (Outcome.Placed) Placement.place(all, "", ground.capacity.snapshot());
    Lease third =
        ground
            .grant(
                new LeaseSpec(all, 0, 0, Ground.HOLDER, Principal.ANYONE, "", LeaseLimits.NONE),
                placed.parts())
            .lease();
    ground.leases.hold(third, reason -> {});
    served.sessions.suspensions().want(lease.id(), Principal.ANYONE);
    pass(200);
    assertThat(ground.queue.here()).hasSize(1);
    assertThat(record().phase()).isEqualTo(Phase.SUSPENDED);
    assertThat(record().result().reason()).contains("waits for room");
    ground.leases.end(second, "enough");
    pass(200);
    assertThat(record().phase()).isEqualTo(Phase.RESUMING);
    assertThat(ground.queue.here()).isEmpty();
    restore().say(TextMessage.ofType("restored"));
    pass(100);
    assertThat(served.sessions.find(session.id(), session.key())).isPresent();
    assertThat(first.state().isAlive()).isTrue();
  }

  @Test
  void resumption_workerCannotRestore_isSuspendedAsBefore_andTriedAgain() throws Exception {
    Session session = suspended(false);
    SuspensionRecord ignored = requests.resume(lease.id().text(), Principal.ANYONE);
    pass(200);
    LinkedWorker worker = restore();
    worker.say(TextMessage.ofType("ended").put("reason", "out of memory"));
    pass(100);
    worker.die();
    pass(100);
    assertThat(record().phase()).isEqualTo(Phase.SUSPENDED);
    assertThat(record().result().reason()).contains("out of memory");
    assertThat(ground.capacity.division(gpu).allocations()).isEmpty();
    assertThat(files()).isEqualTo(1);
    pass(5000);
    restore().say(TextMessage.ofType("restored"));
    pass(100);
    assertThat(served.sessions.find(session.id(), session.key())).isPresent();
  }

  @Test
  void suspension_workerRefuses_goesOn() throws Exception {
    Session session = open();
    LinkedWorker worker = attach(session);
    String id = suspend(false);
    refuse(worker, id, "it has a green context");
    assertThat(record().result().reason()).contains("it has a green context");
    assertThat(session.state()).isEqualTo(Session.State.ATTACHED);
    assertThat(worker.isEnded()).isFalse();
    assertThat(ground.capacity.division(gpu).allocations()).hasSize(1);
    String again = suspend(false);
    assertThat(again).isNotEqualTo(id);
    refuse(worker, again, "it still has it");
  }

  @Test
  void suspension_ofASessionThatIsDisconnectedMeanwhile_outlivesItsWindow() throws Exception {
    Session session = open();
    LinkedWorker worker = attach(session);
    String id = suspend(false);
    worker.say(TextMessage.ofType("disconnected").put("reason", "the worker pauses"));
    pass(70_000);
    assertThat(session.state()).isEqualTo(Session.State.DISCONNECTED);
    write(worker, id);
    awaitPhase(Phase.SAVED);
  }

  @Test
  void suspension_ofALeaseThatEnds_leavesNothing() throws Exception {
    suspended(false);
    ground.leases.end(lease, "enough");
    pass(2000);
    assertThat(ground.store.suspensions().get(lease.id())).isEmpty();
    assertThat(ground.store.get(lease.id())).isEmpty();
    assertThat(files()).isZero();
  }

  @Test
  void session_thatIsClosedWhileItIsSuspended_isForgotten() throws Exception {
    Session session = suspended(false);
    served.sessions.suspensions().close(session.id(), session.key());
    pass(100);
    assertThat(record().sessions()).isEmpty();
    assertThat(files()).isZero();
    SuspensionRecord ignored = requests.resume(lease.id().text(), Principal.ANYONE);
    pass(200);
    assertThat(ground.store.suspensions().get(lease.id())).isEmpty();
    assertThat(ground.capacity.division(gpu).allocations()).hasSize(1);
  }

  @Test
  void idleLease_isSuspendedByItself() throws Exception {
    ground.leases.end(lease, "another one is needed");
    pass(100);
    lease = grant(new LeaseLimits(0, 0, 0, 60_000, 10_000));
    Session session = open();
    LinkedWorker worker = attach(session);
    pass(9000);
    assertThat(ground.store.suspensions().get(lease.id())).isEmpty();
    pass(3000);
    assertThat(record().phase()).isEqualTo(Phase.SUSPENDING);
    assertThat(record().wakesOnCall()).isTrue();
    write(worker, record().id());
    awaitPhase(Phase.SAVED);
  }

  @Test
  void serverThatStartsAgain_knowsWhatIsSuspended_andDeletesOtherFiles() throws Exception {
    Session session = suspended(false);
    Files.writeString(folder.resolve("L99-00-00.session"), "left over");
    served = serve();
    pass(100);
    assertThat(served.sessions.suspensions().find(session.id(), session.key())).isPresent();
    assertThat(files()).isEqualTo(1);
  }

  @Test
  void request_forALeaseThatCannotBeSuspended_saysWhy() throws Exception {
    Lease fleeting = grant(new LeaseLimits(0, 0, 0, 0));
    assertThatThrownBy(() -> requests.begin(fleeting.id().text(), false, Principal.ANYONE))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("resume window of 0");
    assertThatThrownBy(() -> requests.begin("L77", false, Principal.ANYONE))
        .hasMessageContaining("there is no lease 'L77'");
    assertThatThrownBy(() -> requests.resume(lease.id().text(), Principal.ANYONE))
        .hasMessageContaining("is not suspended");
    suspended(false);
    assertThatThrownBy(() -> requests.begin(lease.id().text(), false, Principal.ANYONE))
        .hasMessageContaining("is suspended already");
  }
}
