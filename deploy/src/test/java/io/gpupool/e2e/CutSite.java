// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.e2e.CutPlan.Cut;
import io.gpupool.server.FreePort;
import io.gpupool.server.state.etcd.Etcd;
import io.gpupool.transport.tls.TestAuthority;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A pool that programs reach through {@link CutProxy proxies}, and the faults on their way. */
final class CutSite implements AutoCloseable {
  private static final Duration RUNNING = Duration.ofMinutes(8);

  /** For how long the leases of programs outlive their connections. */
  static final Duration WINDOW = Duration.ofSeconds(60);

  private static final Duration JOINING = Duration.ofSeconds(60);
  private static final String GPUS = "soft:2,mem=1Gi";
  private static final long GPUS_BYTES = 2L << 30;
  private static final long RELAY_GONE_MILLIS = 300;
  private static final int ADDRESSES = 200;

  /** The time between faults, or else programs would never get through within their window. */
  private static final long CALM_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final List<Pool> pools = new ArrayList<>();
  private final List<CutProxy> controls = new ArrayList<>();
  private final List<CutProxy> streams = new ArrayList<>();
  private final List<Runnable> others = new ArrayList<>();
  private final Map<String, String> environment = new TreeMap<>();
  private final ReentrantLock befalling = new ReentrantLock();
  private final boolean clear;
  private Optional<Firewall> firewall = Optional.empty();
  private @Nullable CutAgent agent;
  private int address = 2;

  /** Guarded by the lock. */
  private long calmSinceNanos = System.nanoTime() - CALM_NANOS;

  private CutSite(boolean clear) {
    this.clear = clear;
  }

  /** One server; {@code gpupool run} hands its programs their call streams. */
  static CutSite ofOneServer() {
    CutSite site = new CutSite(true);
    site.add(Pool.start(GPUS));
    site.complete();
    return site;
  }

  /** One server whose software GPU passes over kernels that it does not have as PTX. */
  static CutSite passingOverKernels() {
    CutSite site = new CutSite(true);
    site.add(Pool.start(GPUS, "--soft-missing-ptx=skip"));
    site.complete();
    return site;
  }

  /** One server, and an agent that hands programs their call streams. */
  static CutSite withAgent(Path folder) {
    CutSite site = ofOneServer();
    site.begin(CutAgent.start(site.address(), folder, List.of()));
    return site;
  }

  /** One server that speaks TLS, and an agent that hands programs their sealed call streams. */
  static CutSite withTls(Path folder) {
    TestAuthority authority = new TestAuthority(folder);
    TestAuthority.Issued issued = authority.issue("server", "IP:127.0.0.1,IP:" + CutProxy.HOST);
    CutSite site = new CutSite(false);
    String certificate = issued.certificate().toString();
    site.add(Pool.start(GPUS, "--tls-cert", certificate, "--tls-key", issued.key().toString()));
    site.complete();
    site.environment.put("GPUPOOL_TLS_CA", authority.root().toString());
    List<String> options = List.of("--tls-ca", authority.root().toString());
    site.begin(CutAgent.start(site.address(), folder, options));
    return site;
  }

  /** Two servers of one GPU each; skips the test where there is no etcd. */
  static CutSite ofTwoServers(Path folder) throws Exception {
    CutSite site = new CutSite(true);
    Etcd etcd = Etcd.start(folder, 1);
    site.others.add(etcd::close);
    String state = etcd.url("cuts");
    for (int i = 0; i < 2; i++) {
      String[] options = {"--name", "s" + i, "--state", state, "--host", CutProxy.HOST};
      site.add(Pool.startAt(FreePort.find(), "soft:1,mem=1Gi", options));
    }
    site.complete();
    await().atMost(JOINING).until(() -> site.pools.getFirst().freeBytes() == GPUS_BYTES);
    return site;
  }

  private void add(Pool pool) {
    pools.add(pool);
    controls.add(CutProxy.start(pool.controlPort()));
    streams.add(CutProxy.start(pool.dataPort(), clear, this::make));
  }

  private void complete() {
    firewall = Firewall.make(pools.stream().flatMap(CutSite::ports).toList());
    firewall.ifPresent(wall -> others.add(wall::close));
  }

  private static Stream<Integer> ports(Pool pool) {
    return Stream.of(pool.controlPort(), pool.dataPort());
  }

  private void begin(CutAgent started) {
    agent = started;
    others.add(started::close);
    environment.put("GPUPOOL_AGENT", started.socket().toString());
  }

  /** The address of the pool for programs. */
  private String address() {
    return CutProxy.HOST + ":" + pools.getFirst().controlPort();
  }

  /**
   * Returns whether packets are dropped by a firewall; a proxy swallows bytes where there is none.
   */
  boolean hasFirewall() {
    return firewall.isPresent();
  }

  /** The addresses and options under which a program runs, up to its own command. */
  Program.Builder program(List<String> share, List<Object> command) {
    List<Object> line = new ArrayList<>(List.of(Distribution.gpupool(), "run"));
    line.addAll(List.of("--pool", (clear ? "" : "tls://") + address()));
    line.addAll(share);
    line.addAll(List.of("--resume-window", WINDOW.toSeconds() + "s", "--"));
    line.addAll(command);
    Program.Builder builder = Program.of(line.toArray());
    environment.forEach(builder::with);
    return builder;
  }

  /** Runs a program while faults befall it as planned. */
  Program.Ended run(CutProgram program, CutPlan plan) {
    follow(plan);
    try {
      return program(program.share(), program.line()).run(RUNNING);
    } finally {
      follow(CutPlan.none());
    }
  }

  /** From now on faults befall the programs as planned. */
  void follow(CutPlan plan) {
    streams.forEach(proxy -> proxy.follow(plan));
  }

  /** Resets all call streams. */
  void reset() {
    streams.forEach(CutProxy::reset);
  }

  /** Waits until the site's only program works. */
  void awaitWorking() {
    pools.getFirst().awaitWorking(1, 1);
  }

  void awaitNothingLeft() {
    awaitNothingLeft(Pool.IDLE);
  }

  /** Waits until no lease, session or memory is left; a fault that lasts is over by then. */
  void awaitNothingLeft(Duration atMost) {
    befalling.lock();
    try {
      Pool first = pools.getFirst();
      first.awaitIdle(atMost);
      first.awaitFreeBytes(GPUS_BYTES);
      assertThat(first.sessions()).isEmpty();
    } finally {
      befalling.unlock();
    }
  }

  /**
   * Makes a fault. When this returns, it is over.
   *
   * @return false: not now, since there is one already, or has just been one
   */
  boolean make(Cut cut) {
    if (!befalling.tryLock()) {
      return false;
    }
    try {
      if (System.nanoTime() - calmSinceNanos < CALM_NANOS) {
        return false;
      }
      befall(cut);
      calmSinceNanos = System.nanoTime();
      return true;
    } finally {
      befalling.unlock();
    }
  }

  private void befall(Cut cut) {
    boolean both = cut.fault() == Fault.SILENCE;
    switch (cut.fault()) {
      case HALF_OPEN, SILENCE ->
          lose(both || cut.toServer(), both || !cut.toServer(), cut.millis());
      case RELAY_KILLED -> {
        all().forEach(CutProxy::die);
        pause(RELAY_GONE_MILLIS);
        all().forEach(CutProxy::revive);
      }
      case ADDRESS_CHANGED -> {
        address = address % ADDRESSES + 3;
        all().forEach(proxy -> proxy.moveTo("127.0.1." + address));
      }
      case AGENT_KILLED -> {
        if (agent != null) {
          agent.restart();
        }
        reset();
      }
      case RESET, CLOSE, WITHIN_REQUEST, WITHIN_ANSWER -> throw new AssertionError(cut);
    }
  }

  private void lose(boolean toServer, boolean fromServer, int millis) {
    if (firewall.isPresent()) {
      firewall.get().close(toServer, fromServer);
      pause(millis);
      firewall.get().open(toServer, fromServer);
    } else {
      all().forEach(proxy -> proxy.swallow(toServer, fromServer));
      pause(millis);
      // What came in between is lost, which a kernel would have repeated.
      all().forEach(CutProxy::reset);
      all().forEach(proxy -> proxy.swallow(false, false));
    }
  }

  private Stream<CutProxy> all() {
    return Stream.concat(controls.stream(), streams.stream());
  }

  private static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    all().forEach(CutProxy::close);
    pools.forEach(Pool::close);
    others.reversed().forEach(Runnable::run);
  }
}
