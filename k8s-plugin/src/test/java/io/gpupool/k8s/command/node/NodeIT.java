// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.TokenFile;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.PodRef;
import io.gpupool.k8s.command.DocumentedMetrics;
import io.gpupool.k8s.command.process.PoolConnections;
import io.gpupool.k8s.deviceplugin.StandInKubelet;
import io.gpupool.k8s.deviceplugin.v1beta1.AllocateRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.ContainerAllocateRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.ContainerAllocateResponse;
import io.gpupool.k8s.identity.StandInProc;
import io.gpupool.server.Pool;
import io.gpupool.server.oidc.TestIssuer;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.UnixPeer;
import io.gpupool.transport.metrics.ProcessMeters;
import io.gpupool.wire.TextMessage;
import io.netty.channel.EventLoopGroup;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node's process between a kubelet's protocol, programs of pods, and a real pool. */
class NodeIT {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final String UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
  private static final String GROUP =
      "0::/kubepods/burstable/pod" + UID + "/" + "0123456789abcdef".repeat(4);

  @TempDir private Path node;
  private final EventLoopGroup loops = EventLoops.create("node-test", 1);
  private final EventLoopGroup kubeletLoops = EventLoops.create("kubelet-test", 1);
  private TestIssuer cluster;
  private TestIssuer.Key key;
  private Pool pool;
  private String controller;
  private StandInProc proc;
  private StandInKubelet kubelet;

  @BeforeEach
  void start() throws Exception {
    cluster = new TestIssuer();
    key = cluster.publish("one", "RS256");
    pool = Pool.forCluster(node.resolve("state"), cluster.cluster());
    controller = TestIssuer.sign(key, cluster.podClaims("system/controller", "uid-0"));
    pool.admin(controller).createTenant(CreateTenantRequest.newBuilder().setName("team").build());
    Files.writeString(
        node.resolve("token"), TestIssuer.sign(key, cluster.podClaims("system/node", "uid-n")));
    Files.createDirectories(node.resolve("image/shim"));
    Files.writeString(node.resolve("image/shim/libcuda.so.1"), "shim");
    Files.createDirectories(node.resolve("image/nccl"));
    Files.writeString(node.resolve("image/nccl/ld.so.preload"), "list");
    proc = new StandInProc(node.resolve("proc"));
    kubelet = new StandInKubelet(node.resolve("kubelet/device-plugins"), kubeletLoops);
    kubelet.start();
  }

  @AfterEach
  void stop() throws Exception {
    kubelet.close();
    pool.close();
    cluster.close();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    kubeletLoops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  private NodeProcess.Setup setup() {
    return new NodeProcess.Setup(
        node.resolve("image/shim"),
        node.resolve("run/shim"),
        node.resolve("run"),
        node.resolve("kubelet"),
        node.resolve("proc"),
        150,
        node.resolve("cdi"),
        0);
  }

  private NodeProcess startNode() throws Exception {
    PoolConnections connections =
        new PoolConnections(
            new PoolAddress("127.0.0.1", pool.server.controlPort()),
            new TokenFile(node.resolve("token")),
            ClientSecurity.DEFAULT,
            loops);
    return NodeProcess.start(setup(), connections, loops, new ProcessMeters("test", null));
  }

  private static String get(NodeProcess process, String path) throws Exception {
    try (HttpClient client = HttpClient.newHttpClient()) {
      return client
          .send(
              HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + process.healthPort() + path))
                  .build(),
              HttpResponse.BodyHandlers.ofString())
          .body();
    }
  }

  private TextMessage attach(String lease) throws Exception {
    try (UnixPeer shim = new UnixPeer(new UnixAddress(setup().socket().toString()))) {
      shim.send(
          TextMessage.ofType("attach")
              .put("protocol", 1)
              .put("pid", ProcessHandle.current().pid())
              .put("program", "train")
              .put("lease", lease)
              .build());
      return shim.receive().orElseThrow();
    }
  }

  private void lease() {
    LeaseRequest request =
        LeaseRequest.newBuilder()
            .setFraction(0.25)
            .setTenant("team")
            .setGraceMillis(60_000)
            .setRequestId("0123456789abcdef0123456789abcdef")
            .setPod(
                PodRef.newBuilder()
                    .setUid(UID)
                    .setNamespace("team")
                    .setName("train")
                    .addContainers("main"))
            .build();
    assertThat(pool.as(controller).requestLease(request).next().hasGranted()).isTrue();
  }

  @Test
  void node_started_tellsTheKubeletAndWiresContainers() throws Exception {
    try (NodeProcess process = startNode()) {
      await().atMost(LIMIT).until(() -> kubelet.devices().size() == 100);
      assertThat(kubelet.registrations().getLast().getResourceName())
          .isEqualTo("gpupool.io/gpu-percent");
      ContainerAllocateResponse answer =
          kubelet
              .plugin()
              .allocate(
                  AllocateRequest.newBuilder()
                      .addContainerRequests(
                          ContainerAllocateRequest.newBuilder()
                              .addDevicesIds(kubelet.devices().getFirst().getID()))
                      .build())
              .getContainerResponses(0);
      assertThat(answer.getMountsList())
          .anySatisfy(mount ->
              assertThat(Path.of(mount.getHostPath()))
                  .isEqualTo(node.resolve("run/shim/libcuda.so.1"))
                  .hasContent("shim"))
          .anySatisfy(mount ->
              assertThat(Path.of(mount.getHostPath()))
                  .isEqualTo(node.resolve("run/nccl/ld.so.preload"))
                  .hasContent("list"))
          .anySatisfy(mount -> assertThat(Path.of(mount.getHostPath(), "agent.sock")).exists());
      String device = answer.getCdiDevices(0).getName();
      assertThat(device).isEqualTo("gpupool.io/gpu=shared");
      assertThat(Files.readString(node.resolve("cdi/gpupool.io-gpu.json")))
          .contains("\"kind\": \"gpupool.io/gpu\"")
          .contains(node.resolve("run/shim/libcuda.so.1").toString());
      await().atMost(LIMIT).until(() -> get(process, "/readyz").equals("ok\n"));
      await()
          .atMost(LIMIT)
          .untilAsserted(() ->
              assertThat(get(process, "/metrics"))
                  .containsPattern("gpupool_k8s_device_plugin_registrations [1-9]")
                  .contains("gpupool_k8s_pool_healthy_gpus 1.0"));
      DocumentedMetrics.require(get(process, "/metrics"));
      kubelet.restart();
      await().atMost(LIMIT).until(() -> get(process, "/readyz").equals("ok\n"));
      await().atMost(LIMIT).until(() -> kubelet.devices().size() == 100);
      assertThat(get(process, "/healthz")).isEqualTo("ok\n");
      Files.delete(node.resolve("run/agent.sock"));
      assertThat(get(process, "/healthz")).contains("agent.sock is gone");
    }
    assertThat(node.resolve("kubelet/device-plugins/gpupool.sock")).doesNotExist();
    assertThat(node.resolve("run/agent.sock")).doesNotExist();
    assertThat(node.resolve("run/shim/libcuda.so.1")).exists();
  }

  @Test
  void program_ofAPod_isServedAsItsPod() throws Exception {
    proc.process(ProcessHandle.current().pid(), 1, GROUP);
    Path tokens =
        Files.createDirectories(
            node.resolve("kubelet/pods/" + UID + "/volumes/kubernetes.io~projected/gpupool-token"));
    try (NodeProcess _ = startNode()) {
      assertThat(attach("pod/main").get("message").orElse("")).contains("no gpupool token");
      Files.writeString(
          tokens.resolve("token"), TestIssuer.sign(key, cluster.podClaims("team/default", UID)));
      assertThat(attach("pod/main").type()).isEqualTo("waiting");
      lease();
      assertThat(attach("pod/main").type()).isEqualTo("attached");
    }
  }

  @Test
  void program_ofNoPod_isRefused() throws Exception {
    proc.process(ProcessHandle.current().pid(), 1, "0::/user.slice");
    try (NodeProcess _ = startNode()) {
      TextMessage answer = attach("pod/main");
      assertThat(answer.type()).isEqualTo("refused");
      assertThat(answer.get("message").orElse("")).contains("for pods alone");
    }
  }

  @Test
  void node_killedAndStartedAgain_takesOverWhatIsThere() throws Exception {
    try (NodeProcess _ = startNode()) {
      await().atMost(LIMIT).until(() -> kubelet.devices().size() == 100);
    }
    Files.createFile(node.resolve("run/shim/.new-killed"));
    try (NodeProcess process = startNode()) {
      await().atMost(LIMIT).until(() -> kubelet.registrations().size() >= 2);
      process.removeTraces();
    }
    assertThat(node.resolve("run/shim")).doesNotExist();
    assertThat(node.resolve("run/nccl")).doesNotExist();
    assertThat(node.resolve("cdi/gpupool.io-gpu.json")).doesNotExist();
  }
}
