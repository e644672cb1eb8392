// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.gpupool.k8s.api.TestApiServer;
import io.gpupool.server.Pool;
import io.gpupool.server.state.etcd.Etcd;
import io.gpupool.server.state.etcd.EtcdOptions;
import io.gpupool.transport.tls.TlsFiles;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a large cluster takes; only with {@code -Dgpupool.k8s.scale=true}. */
class ScaleIT {
  private static final int NODES = Integer.getInteger("gpupool.k8s.nodes", 500);
  private static final int PODS = Integer.getInteger("gpupool.k8s.pods", 5000);
  private static final int SERVERS = 4;
  private static final int GPUS = 50;

  /** Twenty pods have a GPU together, so that four fifths of them run at once. */
  private static final String PART = "0.05";

  private static final int RUNNING = Math.min(PODS, SERVERS * GPUS * 20);
  private static final int CREATORS = 4;

  @TempDir Path folder;

  private final Map<String, Long> createdAtNanos = new ConcurrentHashMap<>();
  private final Map<String, Long> grantedAtNanos = new ConcurrentHashMap<>();

  @Test
  void cluster_ofManyPodsAndNodes_isServed() throws Exception {
    assumeThat(Boolean.getBoolean("gpupool.k8s.scale"))
        .as("skipped: it measures, and takes minutes; give -Dgpupool.k8s.scale=true")
        .isTrue();
    try (Etcd etcd = Etcd.start(folder, 1);
        TestCluster cluster = new TestCluster(TestApiServer.withoutEvents())) {
      EtcdOptions state = EtcdOptions.parse(etcd.url("scale"), null, null, null, 30);
      List<Pool> servers = new ArrayList<>();
      try {
        for (int i = 0; i < SERVERS; i++) {
          servers.add(Pool.ofSeveral("soft:" + GPUS, "server-" + i, state, TlsFiles.NONE));
        }
        measure(cluster, servers);
      } finally {
        servers.forEach(Pool::close);
      }
    }
  }

  private void measure(TestCluster cluster, List<Pool> servers) throws Exception {
    IntStream.range(0, NODES).forEach(i -> cluster.addNode("many-" + i));
    List<Integer> ports = servers.stream().map(pool -> pool.server.controlPort()).toList();
    try (ControllerProcess controller =
            new ControllerProcess(cluster.client.getMasterUrl().toString(), ports);
        SharedIndexInformer<Pod> watch = watch(cluster)) {
      say("before", 0, controller);
      long startNanos = System.nanoTime();
      create(cluster);
      say("all pods created", startNanos, controller);
      await()
          .atMost(Duration.ofMinutes(20))
          .pollInterval(Duration.ofSeconds(1))
          .until(() -> grantedAtNanos.size() == RUNNING);
      say("all granted that have room", startNanos, controller);
      times();
      Thread.sleep(30_000);
      say("half a minute later", startNanos, controller);
      int waiting = PODS - RUNNING;
      long freedNanos = System.nanoTime();
      List.copyOf(grantedAtNanos.keySet()).stream().limit(waiting).forEach(cluster::delete);
      await()
          .atMost(Duration.ofMinutes(20))
          .pollInterval(Duration.ofSeconds(1))
          .until(() -> grantedAtNanos.size() == PODS);
      say("as many deleted as waited, and those granted", freedNanos, controller);
      assertThat(watch.hasSynced()).isTrue();
    }
  }

  private SharedIndexInformer<Pod> watch(TestCluster cluster) {
    return cluster
        .client
        .pods()
        .inNamespace("default")
        .inform(
            new ResourceEventHandler<>() {
              @Override
              public void onAdd(Pod pod) {
                createdAtNanos.put(pod.getMetadata().getName(), System.nanoTime());
              }

              @Override
              public void onUpdate(Pod before, Pod pod) {
                if (!TestCluster.isGated(pod)) {
                  grantedAtNanos.putIfAbsent(pod.getMetadata().getName(), System.nanoTime());
                }
              }

              @Override
              public void onDelete(Pod pod, boolean unknown) {}
            });
  }

  private static void create(TestCluster cluster) throws InterruptedException {
    List<Thread> threads =
        IntStream.range(0, CREATORS)
            .mapToObj(creator ->
                Thread.ofPlatform()
                    .start(() -> {
                      for (int i = creator; i < PODS; i += CREATORS) {
                        create(cluster, "pod-" + i);
                      }
                    }))
            .toList();
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private static void create(TestCluster cluster, String name) {
    try {
      var ignored = cluster.create(name, PART);
    } catch (KubernetesClientException e) {
      // A call that took too long was made again, and both have reached it.
      assertThat(e.getCode()).isEqualTo(409);
    }
  }

  private void times() {
    long[] millis =
        grantedAtNanos.entrySet().stream()
            .mapToLong(e -> (e.getValue() - createdAtNanos.get(e.getKey())) / 1_000_000)
            .sorted()
            .toArray();
    System.out.printf(
        "from created to gate lifted: median %d ms, 99 %% %d ms, longest %d ms%n",
        millis[millis.length / 2], millis[millis.length * 99 / 100], millis[millis.length - 1]);
  }

  private static void say(String what, long sinceNanos, ControllerProcess controller)
      throws Exception {
    System.out.printf(
        "%6.1f s  %s: %s%n",
        sinceNanos == 0 ? 0.0 : (System.nanoTime() - sinceNanos) / 1e9, what, controller.ask());
  }
}
