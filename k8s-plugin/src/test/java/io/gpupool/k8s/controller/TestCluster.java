// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.ContainerStatusBuilder;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.PodCondition;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.PodResource;
import io.fabric8.kubernetes.client.http.BasicBuilder;
import io.fabric8.kubernetes.client.http.HttpRequest;
import io.fabric8.kubernetes.client.http.Interceptor;
import io.gpupool.k8s.api.TestApiServer;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.PodRequest;
import java.math.BigDecimal;
import java.net.URI;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;

/** An API server that keeps what it is given, and pods in it as the webhook leaves them. */
public final class TestCluster implements AutoCloseable {
  static final String NODE = "node-1";

  private static final URI NOWHERE = URI.create("http://127.0.0.1:1/");

  private final TestApiServer server;
  final KubernetesClient client;

  TestCluster() {
    this(new TestApiServer());
  }

  TestCluster(TestApiServer server) {
    this.server = server;
    client = server.client();
    client
        .resource(
            new NamespaceBuilder().withNewMetadata().withName("default").endMetadata().build())
        .create();
    addNode(NODE);
  }

  /**
   * Another client, as another process has one.
   *
   * @param isDead whether that process is not there any more, and nothing that it does gets through
   */
  KubernetesClient connect(BooleanSupplier isDead) {
    Interceptor gate =
        new Interceptor() {
          @Override
          public void before(BasicBuilder builder, HttpRequest request, RequestTags tags) {
            if (isDead.getAsBoolean()) {
              builder.uri(NOWHERE);
            }
          }
        };
    return server.connect(builder ->
        builder.withHttpClientBuilderConsumer(http -> http.addOrReplaceInterceptor("dead", gate)));
  }

  /** Takes the API server away; what it has it keeps. */
  void stop() {
    server.stop();
  }

  void startAgain() {
    server.startAgain();
  }

  void addNode(String name) {
    client
        .resource(
            new NodeBuilder()
                .withNewMetadata()
                .withName(name)
                .endMetadata()
                .withNewStatus()
                .addNewCondition()
                .withType("Ready")
                .withStatus("True")
                .endCondition()
                .endStatus()
                .build())
        .create();
  }

  void setReady(String node, boolean ready) {
    client
        .nodes()
        .withName(node)
        .editStatus(before ->
            new NodeBuilder(before)
                .editStatus()
                .editFirstCondition()
                .withStatus(ready ? "True" : "Unknown")
                .endCondition()
                .endStatus()
                .build());
  }

  public static GpuRequest part(String fraction) {
    return new GpuRequest(1, new GpuRequest.Size.Fraction(new BigDecimal(fraction)), null);
  }

  /** A pod with one container that asks for a part of a GPU. */
  Pod create(String name, String fraction) {
    return create(name, Map.of("main", part(fraction)), pod -> pod);
  }

  Pod create(String name, Map<String, GpuRequest> asked, UnaryOperator<PodBuilder> change) {
    return create("default", name, asked, change);
  }

  Pod create(
      String namespace,
      String name,
      Map<String, GpuRequest> asked,
      UnaryOperator<PodBuilder> change) {
    PodBuilder pod =
        new PodBuilder()
            .withNewMetadata()
            .withNamespace(namespace)
            .withName(name)
            .addToLabels(Names.MANAGED, "true")
            .addToAnnotations(Names.REQUEST, new PodRequest(asked, Map.of(), 0).toJson())
            .endMetadata()
            .withNewSpec()
            .addNewSchedulingGate()
            .withName("example.com/other")
            .endSchedulingGate()
            .addNewSchedulingGate()
            .withName(Names.GATE)
            .endSchedulingGate()
            .addNewContainer()
            .withName("main")
            .endContainer()
            .endSpec()
            .withNewStatus()
            .withPhase("Pending")
            .addNewCondition()
            .withType("PodScheduled")
            .withStatus("False")
            .endCondition()
            .endStatus();
    return client.resource(change.apply(pod).build()).create();
  }

  Pod get(String name) {
    return client.pods().inNamespace("default").withName(name).get();
  }

  /** Does what scheduler and kubelet do. */
  void run(String name) {
    Pod pod = get(name);
    edit(
        name,
        p ->
            p.editSpec()
                .withNodeName(NODE)
                .endSpec()
                .editStatus()
                .withPhase("Running")
                .withContainerStatuses(
                    pod.getSpec().getContainers().stream()
                        .map(container ->
                            new ContainerStatusBuilder()
                                .withName(container.getName())
                                .withNewState()
                                .withNewRunning()
                                .endRunning()
                                .endState()
                                .build())
                        .toList())
                .endStatus());
  }

  void finish(String name) {
    edit(name, p -> p.editStatus().withPhase("Succeeded").endStatus());
  }

  void edit(String name, UnaryOperator<PodBuilder> change) {
    PodResource pod = client.pods().inNamespace("default").withName(name);
    UnaryOperator<Pod> edited = before -> change.apply(new PodBuilder(before)).build();
    again(() -> pod.edit(edited));
    again(() -> pod.editStatus(edited));
  }

  /** Others write at the same time. */
  private static void again(Runnable edit) {
    for (; ; ) {
      try {
        edit.run();
        return;
      } catch (KubernetesClientException e) {
        if (e.getCode() != 409) {
          throw e;
        }
      }
    }
  }

  void delete(String name) {
    client.pods().inNamespace("default").withName(name).withGracePeriod(0).delete();
  }

  static boolean isGated(Pod pod) {
    return pod.getSpec().getSchedulingGates() != null
        && pod.getSpec().getSchedulingGates().stream()
            .anyMatch(gate -> gate.getName().equals(Names.GATE));
  }

  static Optional<PodCondition> condition(Pod pod) {
    return pod.getStatus().getConditions().stream()
        .filter(condition -> condition.getType().equals(Names.CONDITION))
        .findFirst();
  }

  /** {@code REASON: MESSAGE}, or nothing. */
  String told(String name) {
    return condition(get(name)).map(c -> c.getReason() + ": " + c.getMessage()).orElse("");
  }

  boolean isGranted(String name) {
    Pod pod = get(name);
    return !isGated(pod) && condition(pod).filter(c -> c.getStatus().equals("True")).isPresent();
  }

  /** Reasons of a pod's events, in their order. */
  List<String> events(String name) {
    return client.v1().events().inNamespace("default").list().getItems().stream()
        .filter(event -> event.getInvolvedObject().getName().equals(name))
        .sorted(Comparator.comparing(event -> event.getMetadata().getName()))
        .map(Event::getReason)
        .toList();
  }

  static Container container(String name) {
    return new ContainerBuilder().withName(name).build();
  }

  @Override
  public void close() {
    server.close();
  }
}
