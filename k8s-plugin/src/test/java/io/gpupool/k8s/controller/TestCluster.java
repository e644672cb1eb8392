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
import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import io.fabric8.mockwebserver.http.MockResponse;
import io.fabric8.mockwebserver.http.RecordedRequest;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.PodRequest;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.URI;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.logging.Level;
import java.util.logging.Logger;

/** An API server that keeps what it is given, and pods in it as the webhook leaves them. */
final class TestCluster implements AutoCloseable {
  static final String NODE = "node-1";

  private static final URI NOWHERE = URI.create("http://127.0.0.1:1/");

  // Held here, since loggers that nobody holds are forgotten with their levels.
  private static final Logger REQUESTS = Logger.getLogger(MockWebServer.class.getName());

  final KubernetesClient client;
  private final KubernetesCrudDispatcher objects;
  private KubernetesMockServer server;
  private final int port;

  TestCluster() {
    this(new KubernetesCrudDispatcher());
  }

  private TestCluster(KubernetesCrudDispatcher objects) {
    this.objects = objects;
    REQUESTS.setLevel(Level.WARNING);
    serve(0);
    port = server.getPort();
    client = server.createClient();
    client
        .resource(
            new NamespaceBuilder().withNewMetadata().withName("default").endMetadata().build())
        .create();
    addNode(NODE);
  }

  /** One that takes events and forgets them: it looks at all objects with each call. */
  static TestCluster withoutEvents() {
    return new TestCluster(
        new KubernetesCrudDispatcher() {
          @Override
          public MockResponse handleCreate(RecordedRequest request) {
            return request.getPath().endsWith("/events")
                ? new MockResponse().setResponseCode(201).setBody(request.getUtf8Body())
                : super.handleCreate(request);
          }
        });
  }

  private void serve(int at) {
    server =
        new KubernetesMockServer(
            new Context(), new MockWebServer(), new HashMap<>(), objects, false);
    server.init(InetAddress.getLoopbackAddress(), at);
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
    return server.createClient(builder ->
        builder.withHttpClientBuilderConsumer(http -> http.addOrReplaceInterceptor("dead", gate)));
  }

  /** Takes the API server away; what it has it keeps. */
  void stop() {
    server.destroy();
  }

  void startAgain() {
    serve(port);
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

  static GpuRequest part(String fraction) {
    return new GpuRequest(
        1, new GpuRequest.Size.Fraction(new BigDecimal(fraction)), OptionalInt.empty());
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
    client.close();
    server.destroy();
  }
}
