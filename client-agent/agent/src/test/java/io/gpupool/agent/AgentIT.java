// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.server.FreePort;
import io.gpupool.server.Pool;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.wire.TextMessage;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The agent between a shim's socket and a real pool-server. */
class AgentIT {
  private static final Duration FREE_LIMIT = Duration.ofSeconds(10);
  private static final EventLoopGroup LOOPS = EventLoops.create("agent-test", 1);
  private static final int ANSWERED_BYTES = TextMessage.HEADER_BYTES + TextMessage.MAX_TEXT_BYTES;
  private static int number;
  private static Pool pool;

  private final UnixAddress socket =
      new UnixAddress("@gpupool-agent-test-" + ProcessHandle.current().pid() + "-" + number++);
  private Agent agent;

  @BeforeAll
  static void startPool() throws Exception {
    pool = new Pool("soft:1", 1);
  }

  @AfterAll
  static void stopPool() {
    pool.close();
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @AfterEach
  void stopAgent_noLeaseIsLeft() {
    if (agent != null) {
      agent.close();
    }
    await().atMost(FREE_LIMIT).until(() -> leases().isEmpty());
  }

  @Test
  void attach_descriptor_programTalksToTheWorkerItself() throws Exception {
    start(false);
    try (Shim shim = new Shim(socket)) {
      TextMessage answer = shim.attach(Shim.attach().put("fraction", "0.25"));
      assertThat(answer.type()).describedAs("%s", answer).isEqualTo("attached");
      assertThat(answer.get("mode")).contains("descriptor");
      assertThat(shim.say("gpus")).isEqualTo("0:2147483648:25");
      assertThat(leases().getFirst().getHolder().getProgram()).isEqualTo("shim");
      assertThat(leases().getFirst().getHolder().getPid())
          .isEqualTo((int) ProcessHandle.current().pid());
    }
  }

  @Test
  void attach_relay_carriesMoreThanAnyBufferHolds() throws Exception {
    start(true);
    try (Shim shim = new Shim(socket)) {
      TextMessage.Builder withoutAWindow =
          Shim.attach().put("memory", "1Gi").put("resume_window", "0");
      assertThat(shim.attach(withoutAWindow).get("mode")).contains("relay");
      String big = "x".repeat(16 << 20);
      Thread writer =
          Thread.ofPlatform()
              .start(() -> {
                try {
                  shim.write(("echo " + big + "\n").getBytes(StandardCharsets.UTF_8));
                } catch (IOException e) {
                  throw new IllegalStateException(e);
                }
              });
      assertThat(shim.readLine().length()).isEqualTo(big.length());
      writer.join();
    }
  }

  @Test
  void attach_workerCrashes_streamEndsInBothModes() throws Exception {
    for (boolean relay : new boolean[] {false, true}) {
      start(relay);
      try (Shim shim = new Shim(socket)) {
        shim.attach(Shim.attach());
        assertThat(shim.say("crash")).isNull();
      }
      agent.close();
      await().atMost(FREE_LIMIT).until(() -> leases().isEmpty());
    }
  }

  @Test
  void attach_withoutAWindowAndTheAgentEnds_leaseAndWorkerEnd() throws Exception {
    start(false);
    try (Shim shim = new Shim(socket)) {
      shim.attach(Shim.attach().put("resume_window", "0"));
      agent.close();
      await().atMost(FREE_LIMIT).until(() -> leases().isEmpty());
      assertThat(shim.readLine()).isNull();
    }
  }

  @Test
  void attach_leaseOfSomebodyElse_isUsedAndLeftAlone() throws Exception {
    start(false);
    try (PoolClient client = new PoolClient(address(), null, ClientSecurity.DEFAULT, LOOPS)) {
      HeldLease held =
          client
              .requestLease(
                  LeaseRequest.newBuilder().setHolder(Holder.newBuilder().setPid(1)).build(),
                  q -> {})
              .get(10, TimeUnit.SECONDS);
      try (Shim first = new Shim(socket);
          Shim second = new Shim(socket)) {
        assertThat(first.attach(Shim.attach().put("lease", held.ticket())).type())
            .isEqualTo("attached");
        assertThat(second.attach(Shim.attach().put("lease", held.ticket())).type())
            .isEqualTo("attached");
        assertThat(leases()).hasSize(1);
        assertThat(leases().getFirst().getSessions()).isEqualTo(2);
        assertThat(first.say("echo a") + second.say("echo b")).isEqualTo("ab");
      }
      await().atMost(FREE_LIMIT).until(() -> leases().getFirst().getSessions() == 0);
      assertThat(leases().getFirst().getState()).isEqualTo(LeaseInfo.State.STATE_HELD);
      held.release().get(5, TimeUnit.SECONDS);
    }
  }

  @Test
  void attach_whatCannotBe_isRefusedWithCauseAndMessage() throws Exception {
    start(false);
    assertRefused(Shim.attach().put("memory", "1Ti"), "refused", "largest GPU");
    assertRefused(Shim.attach().put("fraction", "much"), "refused", "much");
    assertRefused(Shim.attach().put("fraction", "2"), "refused", "0.01 to 1");
    assertRefused(Shim.attach().put("memory", "x"), "refused", "512Mi");
    assertRefused(Shim.attach().put("fraction", "1").put("memory", "1Gi"), "refused", "give one");
    assertRefused(Shim.attach().put("gpus", "x"), "refused", "number of GPUs");
    assertRefused(Shim.attach().put("lease", "L1.wrong"), "denied", "secret");
    assertRefused(Shim.attach().put("lease", "L1"), "refused", "ID.SECRET");
    assertRefused(Shim.attach().put("pool", "127.0.0.1:1"), "unreachable", "127.0.0.1:1");
    assertRefused(Shim.attach().put("pool", "no such host"), "refused", "no address");
    assertRefused(Shim.attach().put("token", "a\nb"), "refused", "token");
    assertRefused(Shim.attach().put("protocol", "2"), "protocol", "same gpupool version");
    assertRefused(TextMessage.ofType("dance"), "protocol", "attach");
  }

  @Test
  void attach_poolWasDown_worksOnceItIsBack() throws Exception {
    int port = FreePort.find();
    agent = Agent.start(options(new PoolAddress("127.0.0.1", port), false), LOOPS);
    assertRefused(Shim.attach(), "unreachable", "cannot be reached");
    try (Pool late = new Pool("soft:1", 0, port);
        Shim shim = new Shim(socket)) {
      assertThat(late.server.controlPort()).isEqualTo(port);
      assertThat(shim.attach(Shim.attach()).type()).isEqualTo("attached");
      assertThat(shim.say("echo back")).isEqualTo("back");
    }
  }

  @Test
  void socket_thousandsOfIdleConnections_keepNobodyOut() throws Exception {
    start(false);
    List<Shim> idle = new ArrayList<>();
    try {
      for (int i = 0; i < 2 * Agent.MAX_PROGRAMS; i++) {
        idle.add(new Shim(socket));
      }
      try (Shim program = new Shim(socket)) {
        assertThat(program.attach(Shim.attach()).type()).isEqualTo("attached");
        assertThat(program.say("echo through")).isEqualTo("through");
      }
      assertThat(idle.getFirst().socket.receive()).isEmpty();
    } finally {
      for (Shim shim : idle) {
        shim.close();
      }
    }
  }

  @Test
  void status_running_saysPoolAndVersion() throws Exception {
    start(false);
    try (Shim shim = new Shim(socket)) {
      TextMessage status = shim.ask(TextMessage.ofType("status").build());
      assertThat(status.get("pool")).contains(address().toString());
      assertThat(status.get("version")).isPresent();
      assertThat(shim.socket.receive()).isEmpty();
    }
  }

  @Test
  void start_pathOfAKilledAgent_isTakenOverButNotThatOfALivingOne(@TempDir Path folder)
      throws Exception {
    UnixAddress path = new UnixAddress(folder.resolve("deep/agent.sock").toString());
    AgentOptions options =
        new AgentOptions(
            new AgentSockets(path, null),
            null,
            null,
            ClientSecurity.DEFAULT,
            LeaseOptions.NOTHING,
            false,
            null,
            false);
    Files.createDirectories(folder.resolve("deep"));
    try (var dead =
        java.nio.channels.ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX)) {
      dead.bind(java.net.UnixDomainSocketAddress.of(path.text()));
    }
    agent = Agent.start(options, LOOPS);
    assertThatThrownBy(() -> Agent.start(options, LOOPS))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("running");
    try (Shim shim = new Shim(path)) {
      assertThat(shim.attach(Shim.attach()).get("message").orElseThrow()).contains("GPUPOOL_POOL");
    }
    agent.close();
    assertThat(Path.of(path.text())).doesNotExist();
  }

  @Test
  void socket_hostileBytes_agentAndOtherProgramsGoOn() throws Exception {
    start(false);
    try (Shim program = new Shim(socket)) {
      program.attach(Shim.attach().put("fraction", "0.5"));
      assertThat(program.say("echo start")).isEqualTo("start");
      long descriptors = openDescriptors();
      Random random = new Random(11);
      for (int i = 0; i < 3000; i++) {
        try (Shim hostile = new Shim(socket)) {
          byte[] bytes = hostileBytes(random);
          hostile.socket.send(bytes);
          if (bytes.length > ANSWERED_BYTES) {
            // Longer than a message that is complete, so there is an answer or an end.
            hostile.socket.receive(new byte[100]);
          }
        } catch (IOException e) {
          // hung up on, as it should be
        }
        if (i % 300 == 0) {
          assertThat(program.say("echo " + i)).isEqualTo("" + i);
        }
      }
      await().until(() -> openDescriptors() <= descriptors + 4);
      assertThat(program.say("echo end")).isEqualTo("end");
      program.socket.send(new byte[] {1});
      await().atMost(FREE_LIMIT).until(() -> leases().isEmpty());
    }
  }

  private static byte[] hostileBytes(Random random) {
    byte[] good = Shim.attach().put("fraction", "1.0").put("memory", "1Ti").build().encode();
    switch (random.nextInt(5)) {
      case 0 -> {
        byte[] noise = new byte[random.nextInt(40_000)];
        random.nextBytes(noise);
        return noise;
      }
      case 1 -> {
        return java.util.Arrays.copyOf(good, 1 + random.nextInt(good.length));
      }
      case 2 -> {
        good[4 + random.nextInt(4)] = (byte) random.nextInt();
        return good;
      }
      case 3 -> {
        good[8 + random.nextInt(good.length - 8)] = (byte) random.nextInt();
        return good;
      }
      default -> {
        return java.util.Arrays.copyOf(good, good.length + 1 + random.nextInt(64));
      }
    }
  }

  private void assertRefused(TextMessage.Builder request, String cause, String message)
      throws Exception {
    try (Shim shim = new Shim(socket)) {
      TextMessage answer = shim.attach(request);
      assertThat(answer.type()).describedAs("%s", answer).isEqualTo("refused");
      assertThat(answer.get("cause")).describedAs("%s", answer).contains(cause);
      assertThat(answer.get("message").orElse("")).contains(message).doesNotContain("\n");
      assertThat(shim.socket.receive()).isEmpty();
    }
  }

  private void start(boolean relay) throws IOException {
    agent = Agent.start(options(address(), relay), LOOPS);
  }

  private AgentOptions options(@Nullable PoolAddress to, boolean relay) {
    return new AgentOptions(
        new AgentSockets(socket, null),
        to,
        null,
        ClientSecurity.DEFAULT,
        LeaseOptions.NOTHING,
        relay,
        null,
        false);
  }

  private static PoolAddress address() {
    return new PoolAddress("127.0.0.1", pool.server.controlPort());
  }

  private static List<LeaseInfo> leases() {
    return new ArrayList<>(pool.stub.listLeases(ListRequest.getDefaultInstance()).getLeasesList());
  }

  private static long openDescriptors() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.count();
    }
  }
}
