// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.DescribeLeaseRequest;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.PodRef;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.server.oidc.TestIssuer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Leases of a cluster's pods: a controller asks for them, and each pod uses its own. */
class PodLeaseIT {
  private static final String FIRST_ID = "0123456789abcdef0123456789abcdef";
  private static final String SECOND_ID = "fedcba9876543210fedcba9876543210";

  private TestIssuer cluster;
  private TestIssuer.Key key;
  private Pool pool;
  private String controller;

  @BeforeEach
  void start(@TempDir Path folder) throws Exception {
    cluster = new TestIssuer();
    key = cluster.publish("one", "RS256");
    pool = Pool.forCluster(folder.resolve("state"), cluster.cluster());
    controller = TestIssuer.sign(key, cluster.podClaims("system/controller", "uid-0"));
    pool.admin(controller).createTenant(CreateTenantRequest.newBuilder().setName("team").build());
  }

  @AfterEach
  void stop() throws Exception {
    pool.close();
    cluster.close();
  }

  @Test
  void pod_usesItsOwnLeaseByItsTokenAlone() throws Exception {
    Lease lease = pool.as(controller).requestLease(ask("uid-1", FIRST_ID, 0.5)).next().getGranted();
    String pod = token("uid-1");
    OpenSessionReply opened = open(pod, "pod/main", "");
    assertThat(opened.getSessionId().size()).isEqualTo(16);
    assertThat(open(pod, "pod/", "").getSessionId().size()).isEqualTo(16);
    assertThat(
            pool.as(pod)
                .describeLease(DescribeLeaseRequest.newBuilder().setLeaseId("pod/main").build())
                .getLease())
        .satisfies(found -> {
          assertThat(found.getId()).isEqualTo(lease.getId());
          assertThat(found.getPod().getName()).isEqualTo("train");
          assertThat(found.getTenant()).isEqualTo("team");
        });
    assertThatThrownBy(() -> open(pod, "pod/other", "")).hasMessageContaining("NOT_FOUND");
  }

  @Test
  void pod_withLeaseIdAndSecretOfAnother_isRefused() throws Exception {
    Lease lease = pool.as(controller).requestLease(ask("uid-1", FIRST_ID, 0.5)).next().getGranted();
    String other = token("uid-2");
    assertThatThrownBy(() -> open(other, "pod/main", "")).hasMessageContaining("NOT_FOUND");
    assertThatThrownBy(() -> open(other, lease.getId(), lease.getSecret()))
        .hasMessageContaining("PERMISSION_DENIED");
    assertThatThrownBy(() -> open(other, lease.getId(), ""))
        .hasMessageContaining("PERMISSION_DENIED");
  }

  @Test
  void pod_mayDoNothingElse() throws Exception {
    Lease lease = pool.as(controller).requestLease(ask("uid-1", FIRST_ID, 0.5)).next().getGranted();
    String pod = token("uid-1");
    String role = "the role of the token is pod";
    assertThatThrownBy(() -> pool.as(pod).listGpus(ListRequest.getDefaultInstance()))
        .hasMessageContaining(role);
    assertThatThrownBy(() -> pool.as(pod).requestLease(ask("uid-1", SECOND_ID, 0.5)).next())
        .hasMessageContaining(role);
    assertThatThrownBy(() ->
            pool.as(pod)
                .releaseLease(
                    ReleaseLeaseRequest.newBuilder()
                        .setLeaseId(lease.getId())
                        .setSecret(lease.getSecret())
                        .build()))
        .hasMessageContaining(role);
    assertThatThrownBy(() ->
            pool.admin(pod).createTenant(CreateTenantRequest.newBuilder().setName("x").build()))
        .hasMessageContaining(role);
  }

  @Test
  void node_seesThePoolAndAsksForNothing() throws Exception {
    String node = TestIssuer.sign(key, cluster.podClaims("system/node", "uid-9"));
    assertThat(pool.as(node).listGpus(ListRequest.getDefaultInstance()).getGpusList()).hasSize(1);
    assertThatThrownBy(() -> pool.as(node).requestLease(ask("uid-1", FIRST_ID, 0.5)).next())
        .hasMessageContaining("PERMISSION_DENIED");
  }

  @Test
  void node_seesLeasesAndRequestsOfItsOwnPodsAlone() throws Exception {
    Iterator<LeaseEvent> granted =
        pool.as(controller).requestLease(on("node-1", ask("uid-1", FIRST_ID, 1)));
    Lease lease = granted.next().getGranted();
    Iterator<LeaseEvent> waiting =
        pool.as(controller)
            .requestLease(
                on("node-2", ask("uid-2", SECOND_ID, 1)).toBuilder().setWaitMillis(60_000).build());
    assertThat(waiting.next().hasQueued()).isTrue();
    PoolGrpc.PoolBlockingStub one = pool.as(node("system/node", "node-1"));
    assertThat(one.listLeases(ListRequest.getDefaultInstance()).getLeasesList())
        .extracting(LeaseInfo::getId)
        .containsExactly(lease.getId());
    assertThat(one.listQueue(ListRequest.getDefaultInstance()).getRequestsList()).isEmpty();
    PoolGrpc.PoolBlockingStub two = pool.as(node("system/node", "node-2"));
    assertThat(two.listLeases(ListRequest.getDefaultInstance()).getLeasesList()).isEmpty();
    assertThat(two.listQueue(ListRequest.getDefaultInstance()).getRequestsList())
        .singleElement()
        .satisfies(entry -> assertThat(entry.getPod().getUid()).isEqualTo("uid-2"));
    for (String token :
        List.of(
            TestIssuer.sign(key, cluster.podClaims("system/node", "uid-9")),
            node("system/node", ""))) {
      assertThat(pool.as(token).listLeases(ListRequest.getDefaultInstance()).getLeasesList())
          .as("a reader without a node")
          .isEmpty();
    }
    assertThatThrownBy(() ->
            pool.as(node("team/default", "node-1")).listLeases(ListRequest.getDefaultInstance()))
        .as("a pod that is no node's agent")
        .hasMessageContaining("the role of the token is pod");
  }

  private String node(String account, String node) throws Exception {
    return TestIssuer.sign(key, cluster.nodeClaims(account, "uid-9", node));
  }

  private static LeaseRequest on(String node, LeaseRequest request) {
    return request.toBuilder().setPod(request.getPod().toBuilder().setNode(node)).build();
  }

  @Test
  void podThatWaits_isToldItsPlace_andOneThatAsksAgainKeepsIt() throws Exception {
    Iterator<LeaseEvent> first = pool.as(controller).requestLease(ask("uid-1", FIRST_ID, 1));
    Lease lease = first.next().getGranted();
    LeaseRequest waiting = ask("uid-2", SECOND_ID, 1).toBuilder().setWaitMillis(60_000).build();
    Iterator<LeaseEvent> second = pool.as(controller).requestLease(waiting);
    assertThat(second.next().getQueued().getPosition()).isEqualTo(1);
    assertThatThrownBy(() -> open(token("uid-2"), "pod/main", ""))
        .hasMessageContaining("NOT_FOUND")
        .hasMessageContaining("place 1 in the queue");
    Iterator<LeaseEvent> again =
        pool.as(controller).requestLease(waiting.toBuilder().setResumed(true).build());
    assertThat(again.next().getQueued().getPosition()).isEqualTo(1);
    assertThatThrownBy(second::hasNext).hasMessageContaining("another connection");
    assertThat(pool.as(controller).listQueue(ListRequest.getDefaultInstance()).getRequestsList())
        .singleElement()
        .satisfies(entry -> assertThat(entry.getPod().getUid()).isEqualTo("uid-2"));
    pool.as(controller)
        .releaseLease(ReleaseLeaseRequest.newBuilder().setLeaseId(lease.getId()).build());
    Lease granted = again.next().getGranted();
    Iterator<LeaseEvent> once =
        pool.as(controller).requestLease(waiting.toBuilder().setResumed(true).build());
    assertThat(once.next().getGranted().getId()).isEqualTo(granted.getId());
    assertThat(open(token("uid-2"), "pod/main", "").getSessionId().size()).isEqualTo(16);
  }

  @Test
  void user_asksForNoPod(@TempDir Path folder) throws Exception {
    try (TestIssuer issuer = new TestIssuer();
        Pool federated = Pool.withIssuer(folder.resolve("state"), issuer.options())) {
      TestIssuer.Key key = issuer.publish("two", "ES256");
      String admin = Files.readString(federated.server.adminToken().orElseThrow());
      federated
          .admin(admin.strip())
          .createTenant(CreateTenantRequest.newBuilder().setName("team").build());
      String user = TestIssuer.sign(key, issuer.claims("team", "user"));
      assertThatThrownBy(() -> federated.as(user).requestLease(ask("uid-1", FIRST_ID, 0.5)).next())
          .hasMessageContaining("only an admin asks for leases in the name of pods");
    }
  }

  private static LeaseRequest ask(String podUid, String id, double fraction) {
    return LeaseRequest.newBuilder()
        .setFraction(fraction)
        .setTenant("team")
        .setGraceMillis(60_000)
        .setRequestId(id)
        .setPod(
            PodRef.newBuilder()
                .setUid(podUid)
                .setNamespace("team")
                .setName("train")
                .addContainers("main"))
        .build();
  }

  private String token(String podUid) throws Exception {
    return TestIssuer.sign(key, cluster.podClaims("team/default", podUid));
  }

  private OpenSessionReply open(String token, String lease, String secret) {
    return pool.as(token)
        .openSession(OpenSessionRequest.newBuilder().setLeaseId(lease).setSecret(secret).build());
  }
}
