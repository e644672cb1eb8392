// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import com.sun.management.UnixOperatingSystemMXBean;
import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.agent.options.PodPrograms;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PodRef;
import io.gpupool.server.Pool;
import io.gpupool.server.oidc.TestIssuer;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.wire.TextMessage;
import io.netty.channel.EventLoopGroup;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The agent of a node of Kubernetes: programs are their pods, whatever they say. */
class PodAgentIT {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final EventLoopGroup LOOPS = EventLoops.create("pod-agent-test", 1);
  private static int number;

  private final UnixAddress socket =
      new UnixAddress("@gpupool-pod-test-" + ProcessHandle.current().pid() + "-" + number++);
  private volatile String podUid = "uid-1";
  private volatile long tokenEndMillis = System.currentTimeMillis() + 3_600_000;
  @TempDir private Path folder;
  private TestIssuer cluster;
  private TestIssuer.Key key;
  private Pool pool;
  private String controller;
  private Agent agent;

  @BeforeEach
  void start() throws Exception {
    cluster = new TestIssuer();
    key = cluster.publish("one", "RS256");
    pool = Pool.forCluster(folder.resolve("state"), cluster.cluster());
    controller = TestIssuer.sign(key, cluster.podClaims("system/controller", "uid-0"));
    pool.admin(controller).createTenant(CreateTenantRequest.newBuilder().setName("team").build());
    agent = startAgent();
  }

  @AfterEach
  void stop() throws Exception {
    agent.close();
    pool.close();
    cluster.close();
  }

  @AfterAll
  static void stopLoops() {
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void program_getsItsPodsLease_whateverItSays() throws Exception {
    Lease own = lease("uid-1", "0123456789abcdef0123456789abcdef", 0.25);
    Lease other = lease("uid-2", "fedcba9876543210fedcba9876543210", 0.5);
    try (Shim shim = new Shim(socket)) {
      assertThat(shim.attach(Shim.attach().put("lease", "pod/main")).type()).isEqualTo("attached");
      assertThat(shim.say("gpus")).isEqualTo("0:2147483648:25");
    }
    try (Shim shim = new Shim(socket)) {
      assertThat(shim.attach(Shim.attach().put("pool", "elsewhere.example")).type())
          .isEqualTo("attached");
      assertThat(shim.say("gpus")).isEqualTo("0:2147483648:25");
    }
    try (Shim shim = new Shim(socket)) {
      String stolen = other.getId() + "." + other.getSecret();
      TextMessage answer = shim.attach(Shim.attach().put("lease", stolen).put("token", controller));
      assertThat(answer.type()).isEqualTo("refused");
      assertThat(answer.get("cause")).contains("denied");
    }
    try (Shim shim = new Shim(socket)) {
      TextMessage.Builder view =
          TextMessage.ofType("nvml").put("protocol", 1).put("lease", "pod/main");
      TextMessage answer = shim.ask(view.build());
      assertThat(answer.get("lease").orElse("")).contains(own.getId());
    }
  }

  @Test
  void program_whosePodHasNoLeaseYet_waitsUntilItIsGranted() throws Exception {
    try (Shim shim = new Shim(socket)) {
      shim.socket.send(Shim.attach().put("lease", "pod/main").build());
      TextMessage waiting = shim.socket.receive().orElseThrow();
      assertThat(waiting.type()).isEqualTo("waiting");
      assertThat(waiting.get("message").orElse("")).contains("no lease");
      lease("uid-1", "0123456789abcdef0123456789abcdef", 0.25);
      TextMessage answer = shim.socket.receive().orElseThrow();
      assertThat(answer.type()).isEqualTo("attached");
    }
  }

  @Test
  void program_whosePodsServerIsAway_waitsForIt() throws Exception {
    int port = pool.server.controlPort();
    pool.close();
    try (Shim shim = new Shim(socket)) {
      shim.socket.send(Shim.attach().put("lease", "pod/main").build());
      TextMessage waiting = shim.socket.receive().orElseThrow();
      assertThat(waiting.type()).isEqualTo("waiting");
      assertThat(waiting.get("message").orElse("")).contains("cannot be reached");
      pool = Pool.forCluster(folder.resolve("state"), cluster.cluster(), port);
      lease("uid-1", "0123456789abcdef0123456789abcdef", 0.25);
      assertThat(shim.afterWaiting().type()).isEqualTo("attached");
    }
  }

  @Test
  void program_waitsForLongerThanItsTokenIsGood_goesOnByTheNext() throws Exception {
    lease("uid-1", "0123456789abcdef0123456789abcdef", 0.25);
    // The pool still believes what has ended within half a minute.
    tokenEndMillis = System.currentTimeMillis() - 20_000;
    try (Shim shim = new Shim(socket);
        Shim watch = new Shim(socket)) {
      TextMessage view =
          TextMessage.ofType("nvml").put("protocol", 1).put("lease", "pod/main").build();
      assertThat(watch.ask(view).type()).isEqualTo("nvml");
      shim.socket.send(Shim.attach().put("lease", "pod/other").build());
      assertThat(shim.socket.receive().orElseThrow().type()).isEqualTo("waiting");
      tokenEndMillis = System.currentTimeMillis() + 3_600_000;
      for (int seconds = 0; seconds < 12; seconds++) {
        assertThat(shim.socket.receive().orElseThrow().type()).isEqualTo("waiting");
      }
      assertThat(watch.ask(view).type()).isEqualTo("nvml");
    }
  }

  @Test
  void podWithThousandsOfConnections_leavesRoomForOthers() throws Exception {
    UnixOperatingSystemMXBean system =
        (UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    assumeThat(system.getMaxFileDescriptorCount())
        .as("open files that a process may have")
        .isGreaterThan(10_000);
    lease("uid-1", "0123456789abcdef0123456789abcdef", 0.25);
    podUid = "greedy";
    List<Shim> greedy = new ArrayList<>();
    try {
      for (int i = 0; i < 4200; i++) {
        greedy.add(new Shim(socket));
      }
      assertThat(greedy.getLast().socket.receive()).isEmpty();
      podUid = "uid-1";
      try (Shim shim = new Shim(socket)) {
        assertThat(shim.attach(Shim.attach()).type()).isEqualTo("attached");
      }
    } finally {
      for (Shim shim : greedy) {
        shim.close();
      }
    }
  }

  @Test
  void status_tellsThatPodsAreServed() throws Exception {
    try (Shim shim = new Shim(socket)) {
      TextMessage status = shim.ask(TextMessage.ofType("status").build());
      assertThat(status.get("serves")).contains("pods");
    }
  }

  @Test
  void program_inNoPod_isRefused() throws Exception {
    podUid = "";
    try (Shim shim = new Shim(socket)) {
      TextMessage answer = shim.attach(Shim.attach().put("fraction", "0.25"));
      assertThat(answer.type()).isEqualTo("refused");
      assertThat(answer.get("message").orElse("")).contains("in no pod");
    }
    assertThat(pool.as(controller).listLeases(ListRequest.getDefaultInstance()).getLeasesList())
        .isEmpty();
  }

  @Test
  void agentThatEnds_leavesProgramsOfPodsRunning() throws Exception {
    lease("uid-1", "0123456789abcdef0123456789abcdef", 0.25);
    try (Shim shim = new Shim(socket)) {
      assertThat(shim.attach(Shim.attach().put("lease", "pod/main")).type()).isEqualTo("attached");
      agent.close();
      agent = startAgent();
      assertThat(shim.say("gpus")).isEqualTo("0:2147483648:25");
      try (Shim later = new Shim(socket)) {
        assertThat(later.attach(Shim.attach()).type()).isEqualTo("attached");
      }
    }
    await()
        .atMost(LIMIT)
        .until(() ->
            pool.as(controller).listSessions(ListRequest.getDefaultInstance()).getSessionsCount()
                == 0);
  }

  private Agent startAgent() throws Exception {
    return Agent.start(
        new AgentOptions(
            new AgentSockets(socket, null),
            new PoolAddress("127.0.0.1", pool.server.controlPort()),
            null,
            ClientSecurity.DEFAULT,
            LeaseOptions.NOTHING,
            false,
            new OnePod(),
            true),
        LOOPS);
  }

  private Lease lease(String uid, String id, double fraction) {
    Iterator<LeaseEvent> events =
        pool.as(controller)
            .requestLease(
                LeaseRequest.newBuilder()
                    .setFraction(fraction)
                    .setTenant("team")
                    .setGraceMillis(60_000)
                    .setResumeWindowMillis(0)
                    .setRequestId(id)
                    .setPod(
                        PodRef.newBuilder()
                            .setUid(uid)
                            .setNamespace("team")
                            .setName("train")
                            .addContainers("main"))
                    .build());
    return events.next().getGranted();
  }

  /** All processes are of the same pod, with a real token of the cluster. */
  private final class OnePod implements PodPrograms {
    @Override
    public long nowTicks() {
      return 7;
    }

    @Override
    public Pod podOf(int pid, long thereTicks) {
      if (podUid.isEmpty()) {
        throw new PoolRequestException(
            PoolRequestException.Cause.DENIED, "process " + pid + " is in no pod");
      }
      assertThat(thereTicks).isEqualTo(7);
      assertThat((long) pid).isEqualTo(ProcessHandle.current().pid());
      String uid = podUid;
      return new Pod(uid, () -> token(uid));
    }

    private String token(String uid) {
      JsonObject claims = cluster.podClaims("team/default", uid);
      claims.addProperty("exp", tokenEndMillis / 1000);
      try {
        return TestIssuer.sign(key, claims);
      } catch (GeneralSecurityException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
