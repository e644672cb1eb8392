// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.k8s.controller.TestPool.Lines;
import io.gpupool.k8s.controller.options.ControllerOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Controller, pool, API server and nodes go and come back. */
class ControllerFaultsIT {
  private static final int KILLS = Integer.getInteger("gpupool.controller.kills", 40);
  private static final long SEED = Long.getLong("gpupool.controller.seed", 1);

  private TestPool pool;
  private TestCluster cluster;
  private final List<AutoCloseable> opened = new ArrayList<>();

  @BeforeEach
  void start() throws IOException {
    pool = new TestPool("soft:2");
    cluster = new TestCluster();
  }

  @AfterEach
  void stop() throws Exception {
    for (AutoCloseable resource : opened.reversed()) {
      resource.close();
    }
    cluster.close();
    pool.close();
  }

  /** A controller in a process of its own, as far as anybody can tell. */
  private final class Process {
    private volatile boolean dead;
    private final KubernetesClient client = cluster.connect(() -> dead);
    private final Lines lines = pool.new Lines();
    private final LeaseController controller;

    Process(ControllerOptions options) {
      controller = LeaseController.start(client, lines::connect, TestPool.KEY, options);
      opened.add(client);
      opened.add(controller);
    }

    /** From one moment to the next it can do nothing more. */
    void kill() {
      dead = true;
      lines.cut();
      // Else it went on trying; nothing of this gets through either.
      opened.remove(controller);
      Thread.startVirtualThread(controller::close);
    }
  }

  private Process process() {
    return new Process(TestPool.OPTIONS);
  }

  private static ControllerOptions apartAfter(Duration apart) {
    ControllerOptions.Times t = TestPool.QUICK;
    return new ControllerOptions(
        "test",
        ControllerOptions.GRACE,
        new ControllerOptions.Times(
            new ControllerOptions.Contact(apart, t.contact().every()),
            t.partial(),
            t.unplaced(),
            t.nodeGone(),
            t.sweep(),
            t.retries(),
            t.refusals(),
            t.reports()));
  }

  private List<String> held() {
    return pool.leases().stream()
        .filter(lease -> lease.getState() == LeaseInfo.State.STATE_HELD)
        .map(LeaseInfo::getId)
        .sorted()
        .toList();
  }

  @Test
  void controller_endsAndStartsAgain_holdsTheSameLeases() throws Exception {
    Process first = process();
    cluster.create("a", "0.5");
    cluster.create("b", "1");
    cluster.create("c", "1");
    await().until(() -> held().size() == 2);
    await().until(() -> pool.waiting() == 1);
    List<String> leases = held();
    first.controller.close();
    await().until(() -> held().isEmpty());
    assertThat(pool.leases()).as("left to their grace").hasSize(2);
    Process second = process();
    await().until(() -> held().equals(leases) && pool.waiting() == 1);
    await().until(() -> second.controller.figures().orElseThrow().granted() == 2);
    assertThat(second.controller.figures().orElseThrow().apiCalls())
        .as("nothing is new to the pods but places in the queue")
        .isLessThanOrEqualTo(2);
  }

  @Test
  void controller_starts_asksForThePodsInTheOrderOfTheirCreation() {
    for (int i = 0; i < 6; i++) {
      String namespace = "team-" + i % 2;
      if (i < 2) {
        cluster
            .client
            .resource(
                new NamespaceBuilder().withNewMetadata().withName(namespace).endMetadata().build())
            .create();
      }
      cluster.create(namespace, "pod-" + i, Map.of("main", TestCluster.part("1")), pod -> pod);
      // API servers write down the second only.
      sleep(1100);
    }
    List<String> asked = new CopyOnWriteArrayList<>();
    opened.add(
        LeaseController.start(
            cluster.client,
            () -> pool.connect(request -> asked.add(request.getPod().getName())),
            TestPool.KEY,
            TestPool.OPTIONS));
    await().until(() -> asked.size() == 6);
    assertThat(asked).containsExactly("pod-0", "pod-1", "pod-2", "pod-3", "pod-4", "pod-5");
  }

  @Test
  void controller_podsEndWhileItIsGone_releasesTheirLeases() throws Exception {
    Process first = process();
    cluster.create("a", "0.5");
    cluster.create("b", "0.5");
    cluster.create("c", "0.5");
    await().until(() -> held().size() == 3);
    first.controller.close();
    cluster.delete("a");
    cluster.finish("b");
    process();
    await().until(() -> held().size() == 1 && pool.leases().size() == 1);
    assertThat(pool.leases().getFirst().getPod().getName()).isEqualTo("c");
  }

  @Test
  void otherClusters_theirLeases_areLeftAlone() throws Exception {
    Process other =
        new Process(new ControllerOptions("other", ControllerOptions.GRACE, TestPool.QUICK));
    cluster.create("a", "0.5");
    await().until(() -> held().size() == 1);
    other.kill();
    cluster.delete("a");
    process();
    sleep(3 * TestPool.QUICK.sweep().toMillis());
    assertThat(pool.leases()).hasSize(1);
    new Process(new ControllerOptions("other", ControllerOptions.GRACE, TestPool.QUICK));
    await().until(() -> pool.leases().isEmpty());
  }

  @Test
  void controller_killedAtAnyPoint_leaksAndDoublesNoLease() {
    Random random = new Random(SEED);
    Set<String> pods = new TreeSet<>();
    int made = 0;
    for (int kill = 0; kill < KILLS; kill++) {
      Process process = process();
      long until = System.nanoTime() + random.nextLong(400_000_000);
      while (System.nanoTime() < until) {
        List<String> there = List.copyOf(pods);
        switch (there.size() < 4 ? 0 : 1 + random.nextInt(4)) {
          case 0, 1 -> {
            String name = "p" + made++;
            cluster.create(name, random.nextBoolean() ? "0.5" : "1");
            pods.add(name);
          }
          case 2 -> {
            String name = there.get(random.nextInt(there.size()));
            if (cluster.isGranted(name)) {
              cluster.run(name);
            }
          }
          case 3 -> {
            String name = there.get(random.nextInt(there.size()));
            cluster.finish(name);
            pods.remove(name);
          }
          default -> {
            String name = there.get(random.nextInt(there.size()));
            cluster.delete(name);
            pods.remove(name);
          }
        }
        assertNoDouble();
      }
      process.kill();
    }
    process();
    Set<String> alive = new HashSet<>();
    pods.forEach(name -> alive.add(cluster.get(name).getMetadata().getUid()));
    await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(() -> {
          List<LeaseInfo> leases = pool.leases();
          assertThat(leases)
              .allSatisfy(lease -> {
                assertThat(alive).contains(lease.getPod().getUid());
                assertThat(lease.getState()).isEqualTo(LeaseInfo.State.STATE_HELD);
              });
          assertThat(leases.size() + pool.waiting()).isEqualTo(pods.size());
        });
    assertNoDouble();
    for (String name : pods) {
      cluster.delete(name);
    }
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> pool.leases().isEmpty() && pool.waiting() == 0);
  }

  private void assertNoDouble() {
    assertThat(pool.leases()).extracting(lease -> lease.getPod().getUid()).doesNotHaveDuplicates();
  }

  @Test
  void pool_endsAndStartsAgain_grantsAgain() throws Exception {
    process();
    cluster.create("a", "0.5");
    await().until(() -> cluster.isGranted("a"));
    pool.stop();
    pool.startAgain();
    await().until(() -> held().size() == 1);
    await().until(() -> cluster.told("a").contains("lease " + held().getFirst() + ":"));
  }

  @Test
  void apiServer_isAwayForAWhile_leasesAreHeld() {
    process();
    cluster.create("a", "0.5");
    await().until(() -> cluster.isGranted("a"));
    cluster.stop();
    List<String> leases = held();
    for (int i = 0; i < 10; i++) {
      sleep(100);
      assertThat(held()).isEqualTo(leases);
    }
    cluster.startAgain();
    cluster.create("b", "0.5");
    await().atMost(Duration.ofSeconds(30)).until(() -> cluster.isGranted("b"));
    assertThat(held()).containsAll(leases);
  }

  @Test
  void apiServer_isAwayForLong_leasesAreLetGoUntilItIsBack() {
    new Process(apartAfter(Duration.ofMillis(700)));
    cluster.create("a", "0.5");
    await().until(() -> cluster.isGranted("a"));
    List<String> leases = held();
    cluster.stop();
    await().until(() -> held().isEmpty());
    assertThat(pool.leases()).as("left to its grace").hasSize(1);
    cluster.startAgain();
    await().atMost(Duration.ofSeconds(30)).until(() -> held().equals(leases));
  }

  @Test
  void node_isGone_itsPodsLoseTheirLeases() {
    process();
    cluster.addNode("node-2");
    cluster.create("a", "0.5");
    cluster.create("b", "0.5");
    await().until(() -> cluster.isGranted("a") && cluster.isGranted("b"));
    cluster.run("a");
    cluster.run("b");
    cluster.edit("b", pod -> pod.editSpec().withNodeName("node-2").endSpec());
    cluster.client.nodes().withName(TestCluster.NODE).delete();
    await().until(() -> pool.leases().size() == 1);
    assertThat(pool.leases().getFirst().getPod().getName()).isEqualTo("b");
    cluster.addNode(TestCluster.NODE);
    await().until(() -> held().size() == 2);
  }

  @Test
  void node_isNotReadyAndPodIsToBeGone_losesItsLease() {
    process();
    cluster.create("a", "0.5");
    await().until(() -> cluster.isGranted("a"));
    cluster.run("a");
    Pod pod = cluster.get("a");
    assertThat(pod.getSpec().getNodeName()).isEqualTo(TestCluster.NODE);
    cluster.edit("a", p -> p.editMetadata().withFinalizers("example.com/held").endMetadata());
    cluster.setReady(TestCluster.NODE, false);
    sleep(2 * TestPool.QUICK.nodeGone().toMillis());
    assertThat(pool.leases()).as("it may come back").hasSize(1);
    cluster.delete("a");
    await().until(() -> pool.leases().isEmpty());
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
