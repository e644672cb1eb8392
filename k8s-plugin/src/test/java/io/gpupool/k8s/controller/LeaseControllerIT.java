// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import static io.gpupool.k8s.controller.TestCluster.container;
import static io.gpupool.k8s.controller.TestCluster.part;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.ContainerStatusBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.DeleteTenantReply;
import io.gpupool.control.v1.DeleteTenantRequest;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListTenantsRequest;
import io.gpupool.control.v1.Quota;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.Names;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The controller with a real pool, and an API server that keeps what it is given. */
class LeaseControllerIT {
  private TestPool pool;
  private TestCluster cluster;
  private LeaseController controller;

  @BeforeEach
  void start() throws IOException {
    pool = new TestPool("soft:1");
    cluster = new TestCluster();
    controller = pool.controller(cluster.client);
  }

  @AfterEach
  void stop() throws IOException {
    controller.close();
    cluster.close();
    pool.close();
  }

  @Test
  void pod_gpuIsFree_runsWithItsLease() {
    Pod pod = cluster.create("train", "0.5");
    await().until(() -> cluster.isGranted("train"));
    Pod granted = cluster.get("train");
    assertThat(cluster.told("train")).isEqualTo("Granted: lease L1: 50 % of GPU 0 of test");
    assertThat(granted.getMetadata().getAnnotations())
        .containsEntry(Names.LEASES, "{\"main\":\"L1\"}");
    assertThat(granted.getSpec().getSchedulingGates())
        .singleElement()
        .satisfies(gate -> assertThat(gate.getName()).isEqualTo("example.com/other"));
    assertThat(granted.getStatus().getConditions()).hasSize(2);
    await()
        .untilAsserted(() -> assertThat(cluster.events("train")).containsExactly("LeaseGranted"));
    assertThat(controller.figures().orElseThrow())
        .as("two patches and an event")
        .isEqualTo(new ControllerStats(1, 0, 1, 3, true));
    LeaseInfo lease = pool.leases().getFirst();
    assertThat(lease.getPod().getUid()).isEqualTo(pod.getMetadata().getUid());
    assertThat(lease.getPod().getContainersList()).containsExactly("main");
    assertThat(lease.getTenant()).isEqualTo("default");
    assertThat(lease.getHolder().getHost()).isEqualTo("default/train");
    assertThat(lease.getHolder().getProgram()).isEqualTo("main");
    assertThat(lease.getHolder().getUser()).isEqualTo("kubernetes/test");
  }

  @Test
  void pod_gpuIsTaken_waitsWithItsPlaceUntilItIsFree() {
    cluster.create("first", "1");
    await().until(() -> cluster.isGranted("first"));
    cluster.create("second", "0.5");
    await().until(() -> cluster.told("second").startsWith("Queued: place 1 in the queue: "));
    cluster.create("third", "1");
    await().until(() -> cluster.told("third").startsWith("Queued: place 2 in the queue: "));
    assertThat(TestCluster.isGated(cluster.get("second"))).isTrue();
    cluster.run("first");
    cluster.finish("first");
    await().until(() -> cluster.isGranted("second"));
    await().until(() -> cluster.told("third").startsWith("Queued: place 1 in the queue: "));
    await()
        .untilAsserted(() ->
            assertThat(cluster.events("second")).containsExactly("LeaseQueued", "LeaseGranted"));
    assertThat(pool.leases()).hasSize(1);
  }

  @Test
  void pod_hasEnded_saysOfNoLeaseAnyMoreThatItIsGranted() {
    cluster.create("train", "0.5");
    await().until(() -> cluster.isGranted("train"));
    cluster.run("train");
    cluster.finish("train");
    await().until(() -> cluster.told("train").startsWith("Ended: "));
    assertThat(cluster.get("train").getMetadata().getAnnotations())
        .as("which lease it had")
        .containsEntry(Names.LEASES, "{\"main\":\"L1\"}");
    await().until(() -> pool.leases().isEmpty());
  }

  @Test
  void pod_hasEndedWhileNoControllerRan_isCorrectedByTheNextOne() {
    cluster.create("train", "0.5");
    await().until(() -> cluster.isGranted("train"));
    controller.close();
    cluster.run("train");
    cluster.finish("train");
    controller = pool.controller(cluster.client);
    await().until(() -> cluster.told("train").startsWith("Ended: "));
  }

  @Test
  void pod_withPriorityClass_waitsByItUnlessAnAnnotationSaysOtherwise() {
    cluster.create("holder", "1");
    await().until(() -> cluster.isGranted("holder"));
    createOfClass("plain", 0, Map.of());
    createOfClass("low", 5, Map.of());
    createOfClass("high", 1_000_000, Map.of());
    // As the webhook leaves it that has read an annotation of nothing.
    createOfClass("annotated", 1_000_000, Map.of(Names.PRIORITY, "0"));
    await()
        .untilAsserted(() ->
            assertThat(pool.queue())
                .extracting(entry -> entry.getPod().getName() + " " + entry.getPriority())
                .containsExactlyInAnyOrder("high 1000", "low 5", "plain 0", "annotated 0"));
    assertThat(pool.queue().getFirst().getPod().getName()).isEqualTo("high");
  }

  @Test
  void pod_withPriorityClassAboveItsTenantsHighest_waitsByThat() {
    pool.admin(admin ->
        admin.createTenant(
            CreateTenantRequest.newBuilder()
                .setName("default")
                .setQuota(Quota.newBuilder().setMaxPriority(7))
                .build()));
    cluster.create("holder", "1");
    await().until(() -> cluster.isGranted("holder"));
    createOfClass("high", 1_000_000, Map.of());
    await()
        .untilAsserted(() ->
            assertThat(pool.queue())
                .singleElement()
                .satisfies(entry -> assertThat(entry.getPriority()).isEqualTo(7)));
  }

  private void createOfClass(String name, int priority, Map<String, String> annotations) {
    cluster.create(
        name,
        Map.of("main", part("1")),
        pod ->
            pod.editMetadata()
                .addToAnnotations(annotations)
                .endMetadata()
                .editSpec()
                .withPriority(priority)
                .endSpec());
  }

  @Test
  void pod_isDeletedWhileItWaits_leavesTheQueue() {
    cluster.create("first", "1");
    await().until(() -> cluster.isGranted("first"));
    cluster.create("second", "1");
    await().until(() -> pool.waiting() == 1);
    cluster.delete("second");
    await().until(() -> pool.waiting() == 0);
    cluster.delete("first");
    await().until(() -> pool.leases().isEmpty());
    await().until(() -> controller.figures().orElseThrow().pods() == 0);
  }

  @Test
  void pod_isMarkedForDeletionAndStillRuns_keepsItsLease() {
    cluster.create("train", "0.5");
    await().until(() -> cluster.isGranted("train"));
    cluster.run("train");
    cluster.edit(
        "train", pod -> pod.editMetadata().withFinalizers("example.com/held").endMetadata());
    cluster.delete("train");
    assertThat(cluster.get("train").getMetadata().getDeletionTimestamp()).isNotNull();
    cluster.create("other", "0.5");
    await().until(() -> cluster.isGranted("other"));
    assertThat(pool.leases()).hasSize(2);
    cluster.edit(
        "train",
        pod ->
            pod.editStatus()
                .withContainerStatuses(
                    new ContainerStatusBuilder()
                        .withName("main")
                        .withNewState()
                        .withNewTerminated()
                        .withExitCode(143)
                        .endTerminated()
                        .endState()
                        .build())
                .endStatus());
    await().until(() -> pool.leases().size() == 1);
  }

  @Test
  void containers_two_haveALeaseEach() {
    create("both", Map.of("main", part("0.5"), "side", part("0.25")), "side");
    await().until(() -> cluster.isGranted("both"));
    assertThat(cluster.get("both").getMetadata().getAnnotations().get(Names.LEASES))
        .matches("\\{\"main\":\"L[12]\",\"side\":\"L[12]\"}");
    assertThat(cluster.told("both"))
        .contains("container main: lease L")
        .contains("container side: lease L")
        .contains("25 % of GPU 0 of test");
    cluster.finish("both");
    await().until(() -> pool.leases().isEmpty());
  }

  @Test
  void initContainer_smallerThanContainer_usesItsLease() {
    Map<String, GpuRequest> asked = new LinkedHashMap<>();
    asked.put("prepare", part("0.25"));
    asked.put("main", part("0.5"));
    cluster.create(
        "train", asked, pod -> pod.editSpec().addToInitContainers(container("prepare")).endSpec());
    await().until(() -> cluster.isGranted("train"));
    assertThat(pool.leases())
        .singleElement()
        .satisfies(lease ->
            assertThat(lease.getPod().getContainersList()).containsExactly("main", "prepare"));
  }

  @Test
  void initContainer_largerThanContainer_hasALeaseUntilItEnds() {
    Map<String, GpuRequest> asked = new LinkedHashMap<>();
    asked.put("prepare", part("1"));
    asked.put("main", part("0.5"));
    cluster.create(
        "train", asked, pod -> pod.editSpec().addToInitContainers(container("prepare")).endSpec());
    await().until(() -> cluster.isGranted("train"));
    assertThat(pool.leases())
        .singleElement()
        .satisfies(lease -> assertThat(lease.getHolder().getProgram()).isEqualTo("prepare"));
    cluster.edit(
        "train",
        pod ->
            pod.editSpec()
                .withNodeName(TestCluster.NODE)
                .endSpec()
                .editStatus()
                .withInitContainerStatuses(
                    new ContainerStatusBuilder()
                        .withName("prepare")
                        .withNewState()
                        .withNewTerminated()
                        .withExitCode(0)
                        .endTerminated()
                        .endState()
                        .build())
                .endStatus());
    await()
        .untilAsserted(() ->
            assertThat(pool.leases())
                .singleElement()
                .satisfies(lease -> assertThat(lease.getHolder().getProgram()).isEqualTo("main")));
    await()
        .untilAsserted(() ->
            assertThat(cluster.get("train").getMetadata().getAnnotations().get(Names.LEASES))
                .isEqualTo("{\"main\":\"L2\"}"));
  }

  @Test
  void sidecar_besideContainer_hasALeaseOfItsOwn() {
    Map<String, GpuRequest> asked = new LinkedHashMap<>();
    asked.put("serve", part("0.25"));
    asked.put("main", part("0.5"));
    cluster.create(
        "train",
        asked,
        pod ->
            pod.editSpec()
                .addToInitContainers(
                    new ContainerBuilder().withName("serve").withRestartPolicy("Always").build())
                .endSpec());
    await().until(() -> cluster.isGranted("train"));
    assertThat(pool.leases())
        .extracting(lease -> lease.getHolder().getProgram())
        .containsExactlyInAnyOrder("serve", "main");
  }

  @Test
  void pods_twoWithAPartEachOfWhatBothNeed_runOneAfterTheOther() {
    // Each gets at first what the other lacks, unless one is quicker.
    create("a", Map.of("main", part("0.5"), "side", part("0.5")), "side");
    create("b", Map.of("main", part("0.5"), "side", part("0.5")), "side");
    await().until(() -> cluster.isGranted("a") || cluster.isGranted("b"));
    String first = cluster.isGranted("a") ? "a" : "b";
    cluster.delete(first);
    await().until(() -> cluster.isGranted(first.equals("a") ? "b" : "a"));
    assertThat(pool.leases()).hasSize(2);
  }

  @Test
  void pod_canNeverBeServed_isRefusedWithTheReason() {
    cluster.create(
        "huge",
        Map.of("main", new GpuRequest(1, new GpuRequest.Size.Memory(1L << 50), null)),
        pod -> pod);
    await().until(() -> cluster.told("huge").startsWith("Refused: "));
    assertThat(TestCluster.isGated(cluster.get("huge"))).isTrue();
    await().untilAsserted(() -> assertThat(cluster.events("huge")).containsExactly("LeaseRefused"));
    cluster.delete("huge");
    await().until(() -> controller.figures().orElseThrow().pods() == 0);
  }

  @Test
  void pod_annotationIsNotTheWebhooks_isRefused() {
    cluster.create(
        "odd",
        Map.of("main", part("1")),
        pod -> pod.editMetadata().addToAnnotations(Names.REQUEST, "{}").endMetadata());
    await().until(() -> cluster.told("odd").startsWith("Refused: annotation gpupool.io/request"));
  }

  @Test
  void pod_thatTheWebhookWasNotShown_getsNothing() {
    cluster.create(
        "forged",
        Map.of("main", part("0.5")),
        pod -> pod.editMetadata().addToLabels(Names.ADMISSION, Names.IGNORE).endMetadata());
    cluster.create("train", "0.5");
    await().until(() -> cluster.isGranted("train"));
    assertThat(pool.leases()).hasSize(1);
    assertThat(controller.figures().orElseThrow().pods()).isEqualTo(1);
  }

  @Test
  void namespace_withQuota_limitsItsTenant() {
    cluster
        .client
        .resource(
            new NamespaceBuilder()
                .withNewMetadata()
                .withName("team")
                .addToAnnotations(Names.TENANT, "research")
                .addToAnnotations(Names.QUOTA_GPUS, "0.5")
                .addToAnnotations(Names.QUOTA_MEMORY, "100Gi")
                .endMetadata()
                .build())
        .create();
    cluster.create("team", "one", Map.of("main", part("0.5")), pod -> pod);
    await().until(() -> pool.leases().size() == 1);
    assertThat(pool.leases().getFirst().getTenant()).isEqualTo("research");
    cluster.create("team", "two", Map.of("main", part("0.25")), pod -> pod);
    await().until(() -> pool.waiting() == 1);
    assertThat(quotaOf("research").getMemoryBytes()).isEqualTo(100L << 30);
    cluster
        .client
        .namespaces()
        .withName("team")
        .edit(namespace ->
            new NamespaceBuilder(namespace)
                .editMetadata()
                .addToAnnotations(Names.QUOTA_GPUS, "0.75")
                .removeFromAnnotations(Names.QUOTA_MEMORY)
                .endMetadata()
                .build());
    await().until(() -> pool.leases().size() == 2);
    assertThat(quotaOf("research")).isEqualTo(Quota.newBuilder().setGpus(0.75).build());
  }

  @Test
  void namespace_quotaAnnotationIsRemoved_takesAwayTheQuotaThatItHasSet() {
    createTeam("0.5");
    cluster.create("team", "one", Map.of("main", part("0.5")), pod -> pod);
    await().until(() -> pool.leases().size() == 1);
    cluster.create("team", "two", Map.of("main", part("0.5")), pod -> pod);
    await().until(() -> pool.waiting() == 1);
    annotateTeam("many");
    await()
        .untilAsserted(() ->
            assertThat(
                    TestCluster.condition(
                        cluster.client.pods().inNamespace("team").withName("two").get()))
                .hasValueSatisfying(
                    condition -> assertThat(condition.getMessage()).contains("'many'")));
    assertThat(quotaOf("team").getGpus()).as("while it makes no sense").isEqualTo(0.5);
    annotateTeam(null);
    await().until(() -> pool.leases().size() == 2);
    assertThat(quotaOf("team")).isEqualTo(Quota.getDefaultInstance());
  }

  @Test
  void namespace_quotaAnnotationIsRemovedWhileNoControllerRuns_takesAwayItsQuota()
      throws Exception {
    createTeam("0.5");
    cluster.create("team", "one", Map.of("main", part("0.5")), pod -> pod);
    await().until(() -> pool.leases().size() == 1);
    controller.close();
    annotateTeam(null);
    controller = pool.controller(cluster.client);
    cluster.create("team", "two", Map.of("main", part("0.5")), pod -> pod);
    await().until(() -> pool.leases().size() == 2);
    assertThat(quotaOf("team")).isEqualTo(Quota.getDefaultInstance());
  }

  @Test
  void namespace_withoutQuota_leavesTheOneThatWasSetByHand() {
    Quota byHand = Quota.newBuilder().setGpus(0.5).build();
    pool.admin(admin ->
        admin.createTenant(
            CreateTenantRequest.newBuilder().setName("team").setQuota(byHand).build()));
    cluster
        .client
        .resource(new NamespaceBuilder().withNewMetadata().withName("team").endMetadata().build())
        .create();
    cluster.create("team", "one", Map.of("main", part("0.5")), pod -> pod);
    await().until(() -> pool.leases().size() == 1);
    assertThat(quotaOf("team")).isEqualTo(byHand);
  }

  private void annotateTeam(String gpus) {
    cluster
        .client
        .namespaces()
        .withName("team")
        .edit(namespace -> {
          NamespaceBuilder builder = new NamespaceBuilder(namespace);
          return gpus == null
              ? builder.editMetadata().removeFromAnnotations(Names.QUOTA_GPUS).endMetadata().build()
              : builder
                  .editMetadata()
                  .addToAnnotations(Names.QUOTA_GPUS, gpus)
                  .endMetadata()
                  .build();
        });
  }

  /** The namespace {@code team}, of which an annotation says how many GPUs it may have. */
  private void createTeam(String gpus) {
    cluster
        .client
        .resource(
            new NamespaceBuilder()
                .withNewMetadata()
                .withName("team")
                .addToAnnotations(Names.QUOTA_GPUS, gpus)
                .endMetadata()
                .build())
        .create();
  }

  @Test
  void tenant_isForgottenByThePool_isMadeAgainWithItsQuota() {
    createTeam("0.5");
    cluster.create("team", "one", Map.of("main", part("0.5")), pod -> pod);
    await().until(() -> pool.leases().size() == 1);
    cluster.client.pods().inNamespace("team").withName("one").withGracePeriod(0).delete();
    await().until(() -> pool.leases().isEmpty());
    DeleteTenantReply ignored =
        pool.admin(
            admin -> admin.deleteTenant(DeleteTenantRequest.newBuilder().setName("team").build()));
    await()
        .untilAsserted(
            () -> assertThat(quotaOf("team")).isEqualTo(Quota.newBuilder().setGpus(0.5).build()));
  }

  @Test
  void namespace_quotaIsNoNumber_refusesItsPods() {
    createTeam("many");
    cluster.create("team", "one", Map.of("main", part("0.5")), pod -> pod);
    await()
        .untilAsserted(() ->
            assertThat(
                    TestCluster.condition(
                        cluster.client.pods().inNamespace("team").withName("one").get()))
                .hasValueSatisfying(condition ->
                    assertThat(condition.getMessage()).contains(Names.QUOTA_GPUS + ": 'many'")));
    assertThat(pool.leases()).isEmpty();
  }

  @Test
  void lease_isEndedByThePool_isAskedForAgain() {
    cluster.create("train", "0.5");
    await().until(() -> cluster.isGranted("train"));
    cluster.run("train");
    var ignored =
        pool.pool()
            .stub
            .releaseLease(
                ReleaseLeaseRequest.newBuilder().setLeaseId("L1").setReason("a test").build());
    await()
        .untilAsserted(() ->
            assertThat(cluster.told("train"))
                .isEqualTo("Granted: lease L2: 50 % of GPU 0 of test"));
    await()
        .untilAsserted(() ->
            assertThat(cluster.events("train"))
                .containsExactly("LeaseGranted", "LeaseLost", "LeaseGranted"));
    assertThat(cluster.get("train").getMetadata().getAnnotations())
        .containsEntry(Names.LEASES, "{\"main\":\"L2\"}");
  }

  private Quota quotaOf(String tenant) {
    return pool
        .admin(admin -> admin.listTenants(ListTenantsRequest.getDefaultInstance()))
        .getTenantsList()
        .stream()
        .filter(info -> info.getName().equals(tenant))
        .map(TenantInfo::getQuota)
        .findFirst()
        .orElse(Quota.getDefaultInstance());
  }

  private Pod create(String name, Map<String, GpuRequest> asked, String... beside) {
    return cluster.create(
        name,
        asked,
        pod ->
            pod.editSpec()
                .addAllToContainers(List.of(beside).stream().map(c -> container(c)).toList())
                .endSpec());
  }
}
