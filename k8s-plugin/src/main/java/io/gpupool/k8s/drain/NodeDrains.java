// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.drain;

import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.gpupool.control.v1.DrainServerRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.UncordonServerRequest;
import io.gpupool.k8s.api.SlimStore;
import io.gpupool.runtime.BackgroundThread;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Drains of a release's servers while their nodes are about to be taken away, until the servers are
 * on other nodes. The pool knows each server by its pod's name. It has its own thread, which
 * compares the actual with the wanted state again and again; started and closed by any thread.
 */
public final class NodeDrains implements AutoCloseable {
  private static final long CALL_SECONDS = 10;
  private static final Logger LOG = LoggerFactory.getLogger(NodeDrains.class);

  private final KubernetesClient client;
  private final ManagedChannel pool;
  private final String set;
  private final String namespace;
  private final boolean move;
  private final Duration every;
  private final SharedIndexInformer<Node> nodes;
  private final SharedIndexInformer<Pod> pods;
  private final BackgroundThread thread;

  /** The node of each server whose drain the pool has confirmed, at the time of the drain. */
  private final Map<String, String> confirmed = new HashMap<>();

  private String told = "";

  private NodeDrains(
      KubernetesClient client,
      ManagedChannel pool,
      String set,
      String namespace,
      boolean move,
      Duration every) {
    this.client = client;
    this.pool = pool;
    this.set = set;
    this.namespace = namespace;
    this.move = move;
    this.every = every;
    nodes =
        client
            .nodes()
            .runnableInformer(0)
            .removeNamespaceIndex()
            .itemStore(new SlimStore<>(Notice::slim));
    pods =
        client
            .pods()
            .inNamespace(namespace)
            .withLabel("app.kubernetes.io/component", "server")
            .runnableInformer(0);
    thread = new BackgroundThread(Thread.ofPlatform().name("node-drains").daemon(), this::run);
  }

  /**
   * Starts, whether or not API server and pool can be reached yet.
   *
   * @param pool with an admin's credentials; not closed with this
   * @param set name of the servers' StatefulSet
   * @param move whether the servers move their leases to other servers
   * @param every the pause between looks
   */
  public static NodeDrains start(
      KubernetesClient client,
      ManagedChannel pool,
      String set,
      String namespace,
      boolean move,
      Duration every) {
    NodeDrains drains = new NodeDrains(client, pool, set, namespace, move, every);
    drains.thread.start();
    return drains;
  }

  private void run() {
    try {
      // Begins as soon as the API server has answered once, however long that takes.
      nodes.exceptionHandler((started, failure) -> true).start();
      pods.exceptionHandler((started, failure) -> true).start();
      while (true) {
        Thread.sleep(every);
        if (nodes.hasSynced() && pods.hasSynced()) {
          look();
        }
      }
    } catch (InterruptedException e) {
      // Closed.
    } finally {
      nodes.stop();
      pods.stop();
    }
  }

  private void look() throws InterruptedException {
    try {
      StatefulSet servers = client.apps().statefulSets().inNamespace(namespace).withName(set).get();
      if (servers != null) {
        drainLeavingNodes(
            Drained.parse(
                Optional.ofNullable(servers.getMetadata().getAnnotations())
                    .map(annotations -> annotations.get(Drained.ANNOTATION))
                    .orElse("")));
      }
      told = "";
    } catch (KubernetesClientException | StatusRuntimeException e) {
      if (Thread.currentThread().isInterrupted()) {
        throw new InterruptedException();
      }
      // Logged once each, because it is tried again every few seconds.
      String what = e instanceof StatusRuntimeException ? "the pool" : "the API server";
      if (!what.equals(told)) {
        LOG.warn("cannot watch nodes for termination: {}: {}", what, e.getMessage());
        told = what;
      }
    }
  }

  private void drainLeavingNodes(Drained before) {
    Map<String, String> places = places();
    Drained now = before;
    for (Map.Entry<String, String> place : places.entrySet()) {
      Optional<String> notice = notice(place.getValue());
      String server = place.getKey();
      // A server that does not grant was told so by an admin, or earlier, or is ending.
      if (notice.isPresent()
          && !place.getValue().equals(confirmed.get(server))
          && isReady(server)) {
        // Written first: a server that is drained and not recorded would stay so forever.
        if (!place.getValue().equals(now.nodes().get(server))) {
          now = now.with(server, place.getValue());
          write(now);
        }
        drain(server, place.getValue(), notice.get());
      }
    }
    for (Map.Entry<String, String> drained : before.nodes().entrySet()) {
      String server = drained.getKey();
      Optional<String> at = Optional.ofNullable(places.get(server));
      // A server without a node may yet come back; it is put into service when it has one.
      if (at.isPresent() && notice(at.get()).isEmpty()) {
        uncordon(server, at.get());
        now = now.without(server);
        write(now);
      }
    }
  }

  /** Returns the nodes of servers that run. */
  private Map<String, String> places() {
    Map<String, String> places = new TreeMap<>();
    for (Pod pod : pods.getStore().list()) {
      boolean ours =
          pod.getMetadata().getOwnerReferences().stream()
              .anyMatch(
                  owner -> owner.getKind().equals("StatefulSet") && owner.getName().equals(set));
      if (ours && pod.getSpec().getNodeName() != null) {
        places.put(pod.getMetadata().getName(), pod.getSpec().getNodeName());
      }
    }
    return places;
  }

  private Optional<String> notice(String node) {
    return Optional.ofNullable(nodes.getStore().getByKey(node)).flatMap(Notice::of);
  }

  private boolean isReady(String server) {
    return PoolGrpc.newBlockingStub(pool)
        .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
        .listServers(ListRequest.getDefaultInstance())
        .getServersList()
        .stream()
        .anyMatch(known ->
            known.getName().equals(server) && known.getState() == ServerInfo.State.STATE_READY);
  }

  private void drain(String server, String node, String notice) {
    LOG.info(
        "server {} grants nothing more: its node {} is about to go ({})", server, node, notice);
    try {
      admin().drainServer(DrainServerRequest.newBuilder().setName(server).setMove(move).build());
      confirmed.put(server, node);
    } catch (StatusRuntimeException e) {
      requireUnknown(e);
    }
  }

  private void uncordon(String server, String node) {
    LOG.info("server {} is put back into service on node {}", server, node);
    confirmed.remove(server);
    try {
      admin().uncordonServer(UncordonServerRequest.newBuilder().setName(server).build());
    } catch (StatusRuntimeException e) {
      requireUnknown(e);
    }
  }

  /** Ignores that the pool does not have a server, which grants nothing anyway. */
  private static void requireUnknown(StatusRuntimeException failure) {
    if (failure.getStatus().getCode() != Status.Code.NOT_FOUND) {
      throw failure;
    }
  }

  private PoolAdminGrpc.PoolAdminBlockingStub admin() {
    return PoolAdminGrpc.newBlockingStub(pool).withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  private void write(Drained drained) {
    Map<String, String> annotation =
        Collections.singletonMap(Drained.ANNOTATION, drained.text().orElse(null));
    client
        .apps()
        .statefulSets()
        .inNamespace(namespace)
        .withName(set)
        .patch(
            PatchContext.of(PatchType.JSON_MERGE),
            Serialization.asJson(Map.of("metadata", Map.of("annotations", annotation))));
  }

  @Override
  public void close() {
    thread.close();
  }
}
