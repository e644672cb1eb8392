// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.drain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.StatusBuilder;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.api.model.apps.StatefulSetBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.control.v1.AuditLine;
import io.gpupool.control.v1.DrainServerRequest;
import io.gpupool.control.v1.ListAuditRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.UncordonServerRequest;
import io.gpupool.json.JsonForm;
import io.gpupool.k8s.api.TestApiServer;
import io.gpupool.server.Pool;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A real pool-server, whose node comes and goes in an API server that keeps what it is given. */
class NodeDrainsIT {
  private static final String NAMESPACE = "gpupool";
  private static final String SET = "gpupool-server";

  /** As the pool's only server is called. */
  private static final String SERVER = "test";

  private static Pool pool;
  private static ManagedChannel channel;

  @RegisterExtension private final TestApiServer apiServer = new TestApiServer();
  private final KubernetesClient client = apiServer.client();
  private NodeDrains drains;

  @BeforeAll
  static void startPool() throws Exception {
    pool = new Pool("soft:1", 0);
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", pool.server.controlPort())
            .usePlaintext()
            .build();
  }

  @AfterAll
  static void stopPool() throws Exception {
    channel.shutdownNow();
    pool.close();
  }

  @BeforeEach
  void start() {
    client
        .resource(
            new StatefulSetBuilder()
                .withNewMetadata()
                .withName(SET)
                .withNamespace(NAMESPACE)
                .endMetadata()
                .build())
        .create();
    node("node-1");
    node("node-2");
    serverOn("node-1");
    begin();
  }

  @AfterEach
  void stop() {
    drains.close();
    // Of a call to drain it that was given up the server may hear yet.
    soon()
        .until(() -> {
          PoolAdminGrpc.newBlockingStub(channel)
              .uncordonServer(UncordonServerRequest.newBuilder().setName(SERVER).build());
          return state().equals("ready");
        });
  }

  @Test
  void nodeOfServer_isAboutToGo_serverDrainsUntilItIsElsewhere() {
    taint("node-1", "aws-node-termination-handler/spot-itn");
    soon().until(() -> state().equals("drained"));
    soon().until(() -> annotation().equals("test=node-1"));
    client.pods().inNamespace(NAMESPACE).withName(SERVER).delete();
    serverOn("node-2");
    soon().until(() -> state().equals("ready"));
    soon().until(() -> annotation().isEmpty());
  }

  @Test
  void nodeOfServer_isTaintedByAnAdmin_serverMovesItsLeases() {
    taint("node-1", "gpupool.io/drain");
    soon().until(() -> state().equals("drained"));
    AuditLine latest =
        PoolAdminGrpc.newBlockingStub(channel)
            .listAudit(ListAuditRequest.newBuilder().setLimit(1).build())
            .getLines(0);
    assertThat(latest.getAction()).isEqualTo("server.drain");
    assertThat(latest.getDetail()).isEqualTo("its leases move to other servers");
  }

  @Test
  void nodeOfServer_isKept_serverIsPutBack() {
    cordon("node-1", true);
    soon().until(() -> state().equals("drained"));
    cordon("node-1", false);
    soon().until(() -> state().equals("ready"));
  }

  @Test
  void controller_isReplacedMeanwhile_serverIsPutBackAllTheSame() {
    taint("node-1", "ToBeDeletedByClusterAutoscaler");
    soon().until(() -> state().equals("drained"));
    drains.close();
    client.pods().inNamespace(NAMESPACE).withName(SERVER).delete();
    serverOn("node-2");
    begin();
    soon().until(() -> state().equals("ready"));
  }

  @Test
  void serverThatAnAdminDrained_isLeftToHim() throws Exception {
    PoolAdminGrpc.newBlockingStub(channel)
        .drainServer(DrainServerRequest.newBuilder().setName(SERVER).build());
    taint("node-2", "karpenter.sh/disrupted");
    taint("node-1", "example.com/gpu");
    TimeUnit.MILLISECONDS.sleep(500);
    assertThat(state()).isEqualTo("drained");
    assertThat(annotation()).isEmpty();
  }

  @Test
  void serverThatAnAdminDrained_itsNodeGoesAndComesBack_isLeftToHim() throws Exception {
    PoolAdminGrpc.newBlockingStub(channel)
        .drainServer(
            DrainServerRequest.newBuilder()
                .setName(SERVER)
                .setDeadlineMillis(TimeUnit.HOURS.toMillis(1))
                .build());
    cordon("node-1", true);
    TimeUnit.MILLISECONDS.sleep(500);
    cordon("node-1", false);
    TimeUnit.MILLISECONDS.sleep(500);
    assertThat(state()).isEqualTo("drained");
    assertThat(server().getDrainDeadlineAtMillis()).isPositive();
    assertThat(annotation()).isEmpty();
  }

  @Test
  void apiServer_refusesAtFirst_nodesAreHeededAllTheSame() {
    drains.close();
    apiServer
        .expect()
        .get()
        .withPath("/api/v1/nodes?resourceVersion=0")
        .andReturn(403, new StatusBuilder().withCode(403).build())
        .once();
    begin();
    cordon("node-1", true);
    soon().until(() -> state().equals("drained"));
  }

  private void begin() {
    drains = NodeDrains.start(client, channel, SET, NAMESPACE, true, Duration.ofMillis(50));
  }

  private static ConditionFactory soon() {
    return await().atMost(Duration.ofSeconds(30)).pollInterval(Duration.ofMillis(20));
  }

  private String state() {
    return JsonForm.text(server().getState());
  }

  private static ServerInfo server() {
    return pool.stub.listServers(ListRequest.getDefaultInstance()).getServers(0);
  }

  private String annotation() {
    StatefulSet set = client.apps().statefulSets().inNamespace(NAMESPACE).withName(SET).get();
    // A patch with null takes an entry away; this API server leaves the null.
    return Optional.ofNullable(set.getMetadata().getAnnotations())
        .map(annotations -> annotations.get(Drained.ANNOTATION))
        .orElse("");
  }

  private void node(String name) {
    client
        .resource(
            new NodeBuilder()
                .withNewMetadata()
                .withName(name)
                .endMetadata()
                .withNewSpec()
                .endSpec()
                .build())
        .create();
  }

  private void taint(String node, String key) {
    client
        .nodes()
        .withName(node)
        .edit(before ->
            new NodeBuilder(before)
                .editSpec()
                .addNewTaint("NoSchedule", key, null, "x")
                .endSpec()
                .build());
  }

  private void cordon(String node, boolean unschedulable) {
    client
        .nodes()
        .withName(node)
        .edit(before ->
            new NodeBuilder(before).editSpec().withUnschedulable(unschedulable).endSpec().build());
  }

  private void serverOn(String node) {
    client
        .resource(
            new PodBuilder()
                .withNewMetadata()
                .withName(SERVER)
                .withNamespace(NAMESPACE)
                .addToLabels("app.kubernetes.io/component", "server")
                .addNewOwnerReference()
                .withApiVersion("apps/v1")
                .withKind("StatefulSet")
                .withName(SET)
                .withUid("1")
                .endOwnerReference()
                .endMetadata()
                .withNewSpec()
                .withNodeName(node)
                .endSpec()
                .build())
        .create();
  }
}
