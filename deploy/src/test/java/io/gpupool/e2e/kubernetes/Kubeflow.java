// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.ContainerPortBuilder;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.EnvVarBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.PodTemplateSpecBuilder;
import io.fabric8.kubernetes.api.model.ServiceBuilder;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A model of Kubeflow's training operator: it makes the pods and services of a PyTorchJob with the
 * names, labels and variables of the real one, from the job as the API server shows it. The real
 * operator is an image that tests cannot have. It watches nothing, restarts nothing and reports no
 * state.
 */
final class Kubeflow {
  private static final String LABEL = "training.kubeflow.org/";
  private static final int PORT = 23456;
  private static final KubernetesSerialization YAML = new KubernetesSerialization();

  private final Cluster cluster;
  private final String namespace;

  Kubeflow(Cluster cluster, String namespace) {
    this.cluster = cluster;
    this.namespace = namespace;
  }

  /** Makes the pods of a PyTorchJob; returns their names, by rank. */
  List<String> runPyTorchJob(String name) {
    GenericKubernetesResource job = job("kubeflow.org/v1", "PyTorchJob", name);
    JsonNode replicas = spec(job).path("pytorchReplicaSpecs");
    int workers = replicas.path("Worker").path("replicas").asInt(1);
    List<String> names = new ArrayList<>();
    names.add(makeReplica(job, "master", 0, workers + 1));
    for (int i = 0; i < workers; i++) {
      names.add(makeReplica(job, "worker", i, workers + 1));
    }
    return names;
  }

  private String makeReplica(GenericKubernetesResource job, String type, int index, int ranks) {
    String jobName = job.getMetadata().getName();
    String name = jobName + "-" + type + "-" + index;
    String master = jobName + "-master-0";
    JsonNode replica =
        spec(job).path("pytorchReplicaSpecs").path(type.equals("master") ? "Master" : "Worker");
    Map<String, String> labels = new HashMap<>();
    labels.put(LABEL + "operator-name", "pytorchjob-controller");
    labels.put(LABEL + "job-name", jobName);
    labels.put(LABEL + "replica-type", type);
    labels.put(LABEL + "replica-index", Integer.toString(index));
    if (type.equals("master")) {
      labels.put(LABEL + "job-role", "master");
    }
    int rank = type.equals("master") ? 0 : index + 1;
    PodTemplateSpec template = template(replica, labels);
    Container container = template.getSpec().getContainers().getFirst();
    assertThat(container.getName()).as("the operator looks for it").isEqualTo("pytorch");
    container
        .getPorts()
        .add(
            new ContainerPortBuilder().withName("pytorchjob-port").withContainerPort(PORT).build());
    add(container, "PYTHONUNBUFFERED", "1");
    add(container, "MASTER_PORT", PORT);
    add(container, "PET_MASTER_PORT", PORT);
    add(container, "MASTER_ADDR", master);
    add(container, "PET_MASTER_ADDR", master);
    add(container, "WORLD_SIZE", ranks);
    add(container, "RANK", rank);
    add(container, "PET_NODE_RANK", rank);
    add(container, "PET_NPROC_PER_NODE", spec(job).path("nprocPerNode").asText("auto"));
    add(container, "PET_NNODES", ranks);
    if (type.equals("worker")) {
      template.getSpec().getInitContainers().add(waits(container.getImage(), master));
    }
    template.getSpec().setRestartPolicy(replica.path("restartPolicy").asText("OnFailure"));
    create(service(job, name, labels));
    create(pod(job, name, template));
    return name;
  }

  private static Container waits(String image, String master) {
    return new ContainerBuilder()
        .withName("init-pytorch")
        .withImage(image)
        .withCommand("sh", "-c", "until getent hosts " + master + "; do sleep 2; done")
        .build();
  }

  GenericKubernetesResource job(String version, String kind, String name) {
    GenericKubernetesResource job =
        cluster
            .client()
            .genericKubernetesResources(version, kind)
            .inNamespace(namespace)
            .withName(name)
            .get();
    assertThat(job).as("%s %s", kind, name).isNotNull();
    return job;
  }

  static JsonNode spec(GenericKubernetesResource job) {
    return YAML.convertValue(job, JsonNode.class).path("spec");
  }

  static PodTemplateSpec template(JsonNode replica, Map<String, String> labels) {
    return new PodTemplateSpecBuilder(
            YAML.convertValue(replica.path("template"), PodTemplateSpec.class))
        .editOrNewMetadata()
        .addToLabels(labels)
        .endMetadata()
        .build();
  }

  static void add(Container container, String name, Object value) {
    List<EnvVar> variables = container.getEnv();
    variables.add(new EnvVarBuilder().withName(name).withValue(value.toString()).build());
  }

  Pod pod(GenericKubernetesResource job, String name, PodTemplateSpec template) {
    return new PodBuilder()
        .withMetadata(
            new ObjectMetaBuilder(owned(job, name))
                .withLabels(template.getMetadata().getLabels())
                .withAnnotations(template.getMetadata().getAnnotations())
                .build())
        .withSpec(template.getSpec())
        .build();
  }

  /** A service without an address of its own, whose name leads to its pods. */
  HasMetadata service(GenericKubernetesResource job, String name, Map<String, String> selector) {
    return new ServiceBuilder()
        .withMetadata(owned(job, name))
        .withNewSpec()
        .withClusterIP("None")
        .withSelector(selector)
        .endSpec()
        .build();
  }

  ObjectMeta owned(GenericKubernetesResource job, String name) {
    return new ObjectMetaBuilder()
        .withName(name)
        .withNamespace(namespace)
        .addNewOwnerReference()
        .withApiVersion(job.getApiVersion())
        .withKind(job.getKind())
        .withName(job.getMetadata().getName())
        .withUid(job.getMetadata().getUid())
        .withController(true)
        .withBlockOwnerDeletion(true)
        .endOwnerReference()
        .addToLabels("app", job.getMetadata().getName().toLowerCase(Locale.ROOT))
        .build();
  }

  void create(HasMetadata object) {
    cluster.client().resource(object).inNamespace(namespace).create();
  }
}
