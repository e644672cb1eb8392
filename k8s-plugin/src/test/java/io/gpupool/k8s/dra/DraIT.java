// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.Device;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceRequestAllocationResult;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaim;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaimBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceSlice;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.NonDeletingOperation;
import io.gpupool.container.ContainerWiring;
import io.gpupool.control.v1.CreatePartitionRequest;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PartitionRef;
import io.gpupool.control.v1.PartitionSize;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.k8s.api.TestApiServer;
import io.gpupool.k8s.dra.v1.Claim;
import io.gpupool.k8s.dra.v1.DRAPluginGrpc;
import io.gpupool.k8s.dra.v1.NodePrepareResourceResponse;
import io.gpupool.k8s.dra.v1.NodePrepareResourcesRequest;
import io.gpupool.k8s.dra.v1.NodePrepareResourcesResponse;
import io.gpupool.k8s.dra.v1.NodeUnprepareResourcesRequest;
import io.gpupool.k8s.kubelet.KubeletSocket;
import io.gpupool.k8s.pluginregistration.v1.InfoRequest;
import io.gpupool.k8s.pluginregistration.v1.PluginInfo;
import io.gpupool.k8s.pluginregistration.v1.RegistrationGrpc;
import io.gpupool.k8s.pluginregistration.v1.RegistrationStatus;
import io.gpupool.server.Pool;
import io.gpupool.server.oidc.TestIssuer;
import io.gpupool.transport.EventLoops;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.netty.channel.EventLoopGroup;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * The driver between a real pool, an API server and a kubelet on real sockets: the scheduler's part
 * and the kubelet's are played here.
 */
class DraIT {
  private static final long MIB = 1 << 20;
  private static final String NODE = "node-1";
  private static final byte[] KEY =
      "a key of sixteen bytes or more".getBytes(StandardCharsets.UTF_8);

  @RegisterExtension private final TestApiServer apiServer = new TestApiServer();
  private final KubernetesClient client = apiServer.client();
  @TempDir private Path folder;
  private final EventLoopGroup loops = EventLoops.create("kubelet", 1);
  private TestIssuer cluster;
  private TestIssuer.Key key;
  private String controllerToken;
  private Pool pool;
  private PoolGrpc.PoolBlockingStub asAdmin;
  private ManagedChannel nodeChannel;
  private DraController controller;
  private DraPlugin plugin;
  private String gpu;

  @BeforeEach
  void start() throws Exception {
    cluster = new TestIssuer();
    key = cluster.publish("one", "RS256");
    pool = Pool.forCluster(folder.resolve("state"), cluster.cluster());
    controllerToken = TestIssuer.sign(key, cluster.podClaims("system/controller", "uid-0"));
    asAdmin = pool.as(controllerToken);
    nodeChannel = connect(TestIssuer.sign(key, cluster.nodeClaims("system/node", "uid-n", NODE)));
    bindPod("train", NODE);
    bindPod("eval", NODE);
    gpu = asAdmin.listGpus(ListRequest.getDefaultInstance()).getGpus(0).getUuid();
    PoolAdminGrpc.PoolAdminBlockingStub admin = pool.admin(controllerToken);
    admin.createTenant(CreateTenantRequest.newBuilder().setName("claims").build());
    admin.createPartition(
        CreatePartitionRequest.newBuilder()
            .setRef(PartitionRef.newBuilder().setName("dra"))
            .setSize(
                PartitionSize.newBuilder().setMemoryBytes(512 * MIB).setComputePercent(50).build())
            .addTenants("claims")
            .build());
    controller = controller();
    Files.createDirectories(folder.resolve("plugins_registry"));
    plugin =
        DraPlugin.start(
            new NodeClaims(
                nodeChannel,
                new ContainerWiring(Path.of("/run/gpupool/shim"), Path.of("/run/gpupool")),
                folder.resolve("cdi"),
                Duration.ofSeconds(3)),
            folder,
            loops);
  }

  @AfterEach
  void stop() throws Exception {
    plugin.close();
    controller.close();
    nodeChannel.shutdownNow();
    pool.close();
    cluster.close();
    loops.shutdownGracefully(0, 0, TimeUnit.SECONDS);
  }

  private ManagedChannel connect() {
    return connect(controllerToken);
  }

  private ManagedChannel connect(String token) {
    return NettyChannelBuilder.forAddress("127.0.0.1", pool.server.controlPort())
        .usePlaintext()
        .intercept(Pool.bearer(token))
        .build();
  }

  /** Does what the scheduler does; without a node: what users do. */
  private void bindPod(String name, String node) {
    client
        .resource(
            new PodBuilder()
                .withNewMetadata()
                .withNamespace("team")
                .withName(name)
                .endMetadata()
                .withNewSpec()
                .withNodeName(node)
                .endSpec()
                .build())
        .createOr(NonDeletingOperation::update);
  }

  private DraController controller() {
    return DraController.start(
        client,
        this::connect,
        KEY,
        new DraOptions(
            "pool",
            "test",
            "dra",
            Duration.ofMinutes(10),
            Duration.ofMillis(300),
            Duration.ofMinutes(10),
            Duration.ofMillis(100),
            Duration.ofMillis(500)));
  }

  private Device device() {
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> !client.resources(ResourceSlice.class).list().getItems().isEmpty());
    return client
        .resources(ResourceSlice.class)
        .list()
        .getItems()
        .getFirst()
        .getSpec()
        .getDevices()
        .getFirst();
  }

  private ResourceClaim allocate(String name, String memory, String compute, String... pods) {
    return client
        .resource(
            ofPods(
                Claims.claim(
                    name,
                    List.of(Claims.share("test", device().getName(), memory, compute)),
                    pods)))
        .create();
  }

  /** With the UIDs that the API server has given the pods. */
  private ResourceClaim ofPods(ResourceClaim claim) {
    claim
        .getStatus()
        .getReservedFor()
        .forEach(user -> user.setUid(pod(user.getName()).getMetadata().getUid()));
    return claim;
  }

  private Pod pod(String name) {
    return client.pods().inNamespace("team").withName(name).get();
  }

  private List<LeaseInfo> leases() {
    return asAdmin.listLeases(ListRequest.getDefaultInstance()).getLeasesList();
  }

  private LeaseInfo lease() {
    await().atMost(Duration.ofSeconds(20)).until(() -> leases().size() == 1);
    return leases().getFirst();
  }

  private NodePrepareResourceResponse prepare(ResourceClaim claim) {
    try (Kubelet kubelet = new Kubelet()) {
      return kubelet
          .driver()
          .nodePrepareResources(request(claim))
          .getClaimsOrThrow(claim.getMetadata().getUid());
    }
  }

  private static NodePrepareResourcesRequest request(ResourceClaim claim) {
    return NodePrepareResourcesRequest.newBuilder().addClaims(named(claim)).build();
  }

  private static Claim named(ResourceClaim claim) {
    return Claim.newBuilder()
        .setNamespace(claim.getMetadata().getNamespace())
        .setName(claim.getMetadata().getName())
        .setUid(claim.getMetadata().getUid())
        .build();
  }

  /** Finds the driver as a kubelet does. */
  private final class Kubelet implements AutoCloseable {
    private final ManagedChannel registry;
    private final PluginInfo info;
    private final ManagedChannel driver;

    private Kubelet() {
      Path socket = folder.resolve("plugins_registry/gpupool.io-reg.sock");
      await().atMost(Duration.ofSeconds(20)).until(() -> Files.exists(socket));
      registry = new KubeletSocket(socket).channel(loops);
      info = RegistrationGrpc.newBlockingStub(registry).getInfo(InfoRequest.getDefaultInstance());
      driver = new KubeletSocket(Path.of(info.getEndpoint())).channel(loops);
    }

    private DRAPluginGrpc.DRAPluginBlockingStub driver() {
      return DRAPluginGrpc.newBlockingStub(driver).withDeadlineAfter(45, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
      registry.shutdownNow();
      driver.shutdownNow();
    }
  }

  @Test
  void kubelet_findsTheDriver_andTellsItSo() {
    try (Kubelet kubelet = new Kubelet()) {
      assertThat(kubelet.info.getType()).isEqualTo("DRAPlugin");
      assertThat(kubelet.info.getName()).isEqualTo("gpupool.io");
      assertThat(kubelet.info.getSupportedVersionsList())
          .containsExactly("v1.DRAPlugin", "v1beta1.DRAPlugin");
      assertThat(plugin.isRegistered()).isFalse();
      RegistrationGrpc.newBlockingStub(kubelet.registry)
          .notifyRegistrationStatus(
              RegistrationStatus.newBuilder().setPluginRegistered(true).build());
      assertThat(plugin.isRegistered()).isTrue();
    }
  }

  @Test
  void claim_allocated_isLeasedPreparedAndGivenBack() throws Exception {
    ResourceClaim claim = allocate("one", "128Mi", "10", "train");
    String name = "claim-" + claim.getMetadata().getUid();
    NodePrepareResourceResponse prepared = prepare(claim);
    assertThat(prepared.getError()).isEmpty();
    assertThat(prepared.getDevices(0).getCdiDeviceIdsList())
        .containsExactly("gpupool.io/claim=" + name);
    assertThat(prepared.getDevices(0).getPoolName()).isEqualTo("test");
    assertThat(prepared.getDevices(0).getDeviceName()).isEqualTo(device().getName());
    Path file = folder.resolve("cdi/gpupool.io-" + name + ".json");
    assertThat(file)
        .content()
        .contains("\"gpupool.io/claim\"", "GPUPOOL_LEASE=pod/" + name)
        .contains("/run/gpupool/shim/libcuda.so.1");
    LeaseInfo lease = lease();
    assertThat(lease.getPod().getUid()).isEqualTo(pod("train").getMetadata().getUid());
    assertThat(lease.getPod().getContainersList()).containsExactly(name);
    assertThat(lease.getTenant()).isEqualTo("claims");
    assertThat(lease.getGrants(0).getGrant())
        .satisfies(grant -> {
          assertThat(grant.getGpuUuid()).isEqualTo(gpu);
          assertThat(grant.getPartition()).isEqualTo("dra");
          assertThat(grant.getMemoryBytes()).isEqualTo(128 * MIB);
          assertThat(grant.getComputePercent()).isEqualTo(10);
        });
    assertThat(prepare(claim)).as("again").isEqualTo(prepared);
    client
        .resource(
            new ResourceClaimBuilder(claim).editStatus().withReservedFor().endStatus().build())
        .updateStatus();
    await().atMost(Duration.ofSeconds(20)).until(() -> leases().isEmpty());
    try (Kubelet kubelet = new Kubelet()) {
      NodeUnprepareResourcesRequest request =
          NodeUnprepareResourcesRequest.newBuilder().addClaims(named(claim)).build();
      for (int times = 0; times < 2; times++) {
        assertThat(
                kubelet
                    .driver()
                    .nodeUnprepareResources(request)
                    .getClaimsOrThrow(claim.getMetadata().getUid())
                    .getError())
            .isEmpty();
        assertThat(file).doesNotExist();
      }
    }
  }

  @Test
  void claim_ofPodThatIsNotBoundYet_isLeasedOnceThePodHasItsNode() {
    bindPod("late", "");
    ResourceClaim claim = allocate("one", "128Mi", "10", "late");
    assertThat(prepare(claim).getError()).contains("has no lease for the claim");
    assertThat(leases()).isEmpty();
    bindPod("late", NODE);
    assertThat(prepare(claim).getError()).isEmpty();
    assertThat(lease().getPod().getNode()).isEqualTo(NODE);
  }

  @Test
  void claim_ofPodOfAnotherNode_isNotShownToThisOne() {
    bindPod("far", "node-2");
    ResourceClaim claim = allocate("one", "128Mi", "10", "far");
    assertThat(lease().getPod().getNode()).isEqualTo("node-2");
    assertThat(prepare(claim).getError()).contains("has no lease for the claim");
  }

  @Test
  void kubelet_ofTheVersionBefore_isServedToo() {
    ResourceClaim claim = allocate("one", "128Mi", "10", "train");
    lease();
    MethodDescriptor<NodePrepareResourcesRequest, NodePrepareResourcesResponse> method =
        DRAPluginGrpc.getNodePrepareResourcesMethod().toBuilder()
            .setFullMethodName("k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources")
            .build();
    try (Kubelet kubelet = new Kubelet()) {
      NodePrepareResourcesResponse response =
          ClientCalls.blockingUnaryCall(
              kubelet.driver, method, CallOptions.DEFAULT, request(claim));
      String uid = claim.getMetadata().getUid();
      assertThat(response.getClaimsOrThrow(uid).getDevices(0).getCdiDeviceIdsList())
          .containsExactly("gpupool.io/claim=claim-" + uid);
    }
  }

  @Test
  void claim_forWhichThereIsNoRoomYet_waitsWithReason() {
    ResourceClaim first = allocate("one", "512Mi", "50", "train");
    lease();
    ResourceClaim second = allocate("two", "256Mi", "10", "eval");
    assertThat(prepare(second).getError()).contains("place 1");
    client.resource(first).delete();
    assertThat(prepare(second).getError()).isEmpty();
    assertThat(lease().getPod().getName()).isEqualTo("eval");
  }

  @Test
  void claim_thatIsNotSupported_isToldToItsPodOnce() {
    DeviceRequestAllocationResult device = Claims.share("test", device().getName(), "64Mi", "10");
    ResourceClaim claim =
        client.resource(Claims.claim("one", List.of(device, device), "train")).create();
    awaitRefusal("train", "this one has 2");
    client
        .resource(claim)
        .edit(before ->
            new ResourceClaimBuilder(before)
                .editMetadata()
                .addToLabels("looked", "again")
                .endMetadata()
                .build());
    assertThat(prepare(claim).getError()).contains("the pod's events tell why");
    awaitRefusal("train", "this one has 2");
    assertThat(leases()).isEmpty();
  }

  @Test
  void claim_thatAnotherPodUsesToo_staysThatOfTheFirst() {
    ResourceClaim claim = allocate("one", "128Mi", "10", "train");
    String id = lease().getId();
    reserve(claim, "train", "eval");
    awaitRefusal("eval", "ResourceClaimTemplate");
    assertThat(lease().getId()).isEqualTo(id);
    // Kubernetes itself may write such claims to and fro, when the first pod has ended.
    for (int i = 0; i < 10; i++) {
      reserve(claim, "train");
      reserve(claim, "train", "eval");
    }
    reserve(claim, "eval");
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> leases().size() == 1 && lease().getPod().getName().equals("eval"));
    awaitRefusal("eval", "ResourceClaimTemplate");
  }

  private void reserve(ResourceClaim claim, String... pods) {
    client
        .resource(
            new ResourceClaimBuilder(claim)
                .editStatus()
                .withReservedFor(
                    ofPods(Claims.claim("any", List.of(), pods)).getStatus().getReservedFor())
                .endStatus()
                .build())
        .updateStatus();
  }

  private void awaitRefusal(String pod, String why) {
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(() ->
            assertThat(client.v1().events().inNamespace("team").list().getItems())
                .singleElement()
                .satisfies((Event event) -> {
                  assertThat(event.getReason()).isEqualTo("ClaimRefused");
                  assertThat(event.getInvolvedObject().getName()).isEqualTo(pod);
                  assertThat(event.getMessage()).contains(why);
                }));
  }

  @Test
  void lease_endedByAnAdmin_isAskedForAgain() {
    allocate("one", "128Mi", "10", "train");
    String id = lease().getId();
    asAdmin.releaseLease(ReleaseLeaseRequest.newBuilder().setLeaseId(id).build());
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> leases().size() == 1 && !leases().getFirst().getId().equals(id));
  }

  @Test
  void claim_thatWaitsAndGoes_leavesTheQueue() {
    allocate("one", "512Mi", "50", "train");
    lease();
    ResourceClaim second = allocate("two", "256Mi", "10", "eval");
    await().atMost(Duration.ofSeconds(20)).until(() -> waiting() == 1);
    client.resource(second).delete();
    await().atMost(Duration.ofSeconds(20)).until(() -> waiting() == 0);
  }

  private int waiting() {
    return asAdmin.listQueue(ListRequest.getDefaultInstance()).getRequestsCount();
  }

  @Test
  void controller_startedAnew_keepsTheLeaseAndEndsWhatHasGone() {
    allocate("one", "128Mi", "10", "train");
    String id = lease().getId();
    ResourceClaim other = allocate("two", "64Mi", "10", "eval");
    await().atMost(Duration.ofSeconds(20)).until(() -> leases().size() == 2);
    controller.close();
    client.resource(other).delete();
    assertThat(leases()).hasSize(2);
    controller = controller();
    assertThat(lease().getId()).isEqualTo(id);
  }

  @Test
  void capacityOfClaims_isNobodyElses() {
    assertThat(device().getCapacity().get("memory").getValue()).hasToString("512Mi");
    GpuInfo all = asAdmin.listGpus(ListRequest.getDefaultInstance()).getGpus(0);
    LeaseRequest.Builder request = LeaseRequest.newBuilder().setComputePercent(10);
    Iterator<LeaseEvent> events =
        asAdmin.requestLease(request.setMemoryBytes(all.getMemoryBytes() - 511 * MIB).build());
    assertThat(events.next().getRefused().getReason().getTooLarge().getOutsidePartitions())
        .isTrue();
    events = asAdmin.requestLease(request.setMemoryBytes(all.getMemoryBytes() - 512 * MIB).build());
    assertThat(events.next().hasGranted()).isTrue();
  }

  @Test
  void socket_removed_isThereAgain() throws Exception {
    Path socket = folder.resolve("plugins_registry/gpupool.io-reg.sock");
    await().atMost(Duration.ofSeconds(20)).until(() -> Files.exists(socket));
    Files.delete(socket);
    await().atMost(Duration.ofSeconds(20)).until(() -> Files.exists(socket));
    try (Kubelet kubelet = new Kubelet()) {
      assertThat(kubelet.info.getName()).isEqualTo("gpupool.io");
    }
  }
}
