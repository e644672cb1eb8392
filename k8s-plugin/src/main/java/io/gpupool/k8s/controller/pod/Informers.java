// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.pod;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Namespace;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.NodeCondition;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.Informable;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.gpupool.k8s.api.SlimStore;
import io.gpupool.k8s.request.Names;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The watches of pods that have asked for GPUs, and of all namespaces and nodes. They go on until
 * closed, through outages of the API server. Started and closed by any thread.
 */
public final class Informers implements AutoCloseable {
  private static final long PAGE = 500;
  private static final Logger LOG = LoggerFactory.getLogger(Informers.class);

  /** The recipient of changes, called on the controller's thread. */
  public interface Listener {
    void pod(PodFacts pod);

    void podGone(PodKey pod);

    void namespace(Namespace namespace);

    void namespaceGone(String name);

    void node(String name, boolean ready);

    void nodeGone(String name);
  }

  private final List<SharedIndexInformer<?>> all;
  private final Set<Handler<?>> listed;

  private Informers(List<SharedIndexInformer<?>> all, Set<Handler<?>> listed) {
    this.all = all;
    this.listed = listed;
  }

  /**
   * A handler that notes when the initial list was reported, which is later than the informer has
   * it.
   */
  private abstract static class Handler<T> implements ResourceEventHandler<T> {
    private final Executor thread;
    private final Set<Handler<?>> listed;

    private Handler(Executor thread, Set<Handler<?>> listed) {
      this.thread = thread;
      this.listed = listed;
    }

    final void tell(Runnable event) {
      thread.execute(event);
    }

    @Override
    public final void onList(String version, boolean empty) {
      tell(() -> listed.add(this));
    }
  }

  public static Informers start(KubernetesClient client, Executor thread, Listener listener) {
    Set<Handler<?>> listed = ConcurrentHashMap.newKeySet();
    Informers informers =
        new Informers(
            List.of(
                informer(
                    client.namespaces().withLimit(PAGE),
                    namespace ->
                        new NamespaceBuilder().withMetadata(slim(namespace.getMetadata())).build(),
                    thread,
                    listed,
                    listener::namespace,
                    namespace -> listener.namespaceGone(namespace.getMetadata().getName())),
                informer(
                    client.nodes().withLimit(PAGE),
                    node -> new NodeBuilder().withMetadata(slim(node.getMetadata())).build(),
                    thread,
                    listed,
                    node -> listener.node(node.getMetadata().getName(), isReady(node)),
                    node -> listener.nodeGone(node.getMetadata().getName())),
                pods(client, thread, listed, listener)),
            listed);
    informers.all.forEach(informer ->
        informer
            .exceptionHandler((started, failure) -> {
              LOG.warn("the API server cannot be watched; trying again: {}", failure.toString());
              return true;
            })
            .start());
    return informers;
  }

  private static SharedIndexInformer<Pod> pods(
      KubernetesClient client, Executor thread, Set<Handler<?>> listed, Listener listener) {
    SharedIndexInformer<Pod> informer =
        client
            .pods()
            .inAnyNamespace()
            .withLabel(Names.MANAGED, "true")
            // The webhook has not counted their requests, though the annotation may be written.
            .withoutLabel(Names.ADMISSION, Names.IGNORE)
            .withLimit(PAGE)
            .runnableInformer(0);
    return with(
        informer,
        pod -> new PodBuilder().withMetadata(slim(pod.getMetadata())).build(),
        new Handler<>(thread, listed) {
          @Override
          public void onAdd(Pod pod) {
            PodFacts facts = PodFacts.of(pod);
            tell(() -> listener.pod(facts));
          }

          @Override
          public void onUpdate(Pod before, Pod pod) {
            // A pod of the same name may have taken its place unobserved.
            if (!before.getMetadata().getUid().equals(pod.getMetadata().getUid())) {
              onDelete(before, true);
            }
            onAdd(pod);
          }

          @Override
          public void onDelete(Pod pod, boolean unknown) {
            ObjectMeta meta = pod.getMetadata();
            PodKey key = new PodKey(meta.getUid(), meta.getNamespace(), meta.getName());
            tell(() -> listener.podGone(key));
          }
        });
  }

  private static <T extends HasMetadata> SharedIndexInformer<T> informer(
      Informable<T> objects,
      UnaryOperator<T> slim,
      Executor thread,
      Set<Handler<?>> listed,
      Consumer<T> there,
      Consumer<T> gone) {
    return with(
        objects.runnableInformer(0),
        slim,
        new Handler<>(thread, listed) {
          @Override
          public void onAdd(T object) {
            tell(() -> there.accept(object));
          }

          @Override
          public void onUpdate(T before, T object) {
            onAdd(object);
          }

          @Override
          public void onDelete(T object, boolean unknown) {
            tell(() -> gone.accept(object));
          }
        });
  }

  private static <T extends HasMetadata> SharedIndexInformer<T> with(
      SharedIndexInformer<T> informer, UnaryOperator<T> slim, ResourceEventHandler<T> handler) {
    return informer
        .removeNamespaceIndex()
        .itemStore(new SlimStore<>(slim))
        .addEventHandler(handler);
  }

  private static ObjectMeta slim(ObjectMeta meta) {
    return new ObjectMetaBuilder()
        .withNamespace(meta.getNamespace())
        .withName(meta.getName())
        .withUid(meta.getUid())
        .withResourceVersion(meta.getResourceVersion())
        .build();
  }

  private static boolean isReady(Node node) {
    if (node.getStatus() == null || node.getStatus().getConditions() == null) {
      return false;
    }
    for (NodeCondition condition : node.getStatus().getConditions()) {
      if (condition.getType().equals("Ready")) {
        return condition.getStatus().equals("True");
      }
    }
    return false;
  }

  /** Returns whether the initial lists were reported. */
  public boolean haveSynced() {
    return listed.size() == all.size();
  }

  /** Returns whether changes are being reported. */
  public boolean areWatching() {
    return all.stream().allMatch(SharedIndexInformer::isWatching);
  }

  @Override
  public void close() {
    all.forEach(SharedIndexInformer::stop);
  }
}
