// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.KeyToPath;
import io.fabric8.kubernetes.api.model.KeyToPathBuilder;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.VolumeBuilder;
import io.fabric8.kubernetes.api.model.VolumeMountBuilder;
import io.fabric8.kubernetes.api.model.batch.v1.JobBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A model of Kubeflow's MPI operator: it makes the workers, the launcher, the host file, the keys
 * of SSH and the service of an MPIJob of Open MPI, with the names, labels and variables of the real
 * one. The real operator is an image that tests cannot have. It watches nothing, restarts nothing
 * and reports no state.
 */
final class MpiOperator {
  private static final String LABEL = "training.kubeflow.org/";
  private static final String CONFIG_FOLDER = "/etc/mpi";
  private static final String SSH_FOLDER = "/root/.ssh";

  private final Kubeflow kubeflow;
  private final Pods pods;

  MpiOperator(Pods pods) {
    this.pods = pods;
    kubeflow = new Kubeflow(pods.cluster(), pods.namespace());
  }

  /** Makes all that belongs to a job; returns the name of the launcher's Job. */
  String run(String name, Path folder) throws IOException {
    GenericKubernetesResource job = kubeflow.job("kubeflow.org/v2beta1", "MPIJob", name);
    JsonNode spec = Kubeflow.spec(job);
    assertThat(spec.path("launcherCreationPolicy").asText()).isEqualTo("WaitForWorkersReady");
    int workers = spec.path("mpiReplicaSpecs").path("Worker").path("replicas").asInt();
    int slots = spec.path("slotsPerWorker").asInt(1);
    Map<String, String> all =
        Map.of(LABEL + "operator-name", "mpi-operator", LABEL + "job-name", name);
    kubeflow.create(kubeflow.service(job, name, all));
    makeKeys(job, folder);
    makeHosts(job, workers, slots);
    List<String> names = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      names.add(makeWorker(job, spec.path("mpiReplicaSpecs").path("Worker"), i));
    }
    Later.within(
        Duration.ofMinutes(3),
        () ->
            assertThat(names)
                .allSatisfy(worker ->
                    assertThat(pods.phase(worker))
                        .as("%s", pods.events(worker))
                        .isEqualTo("Running")));
    return makeLauncher(job, spec.path("mpiReplicaSpecs").path("Launcher"), slots);
  }

  private void makeKeys(GenericKubernetesResource job, Path folder) throws IOException {
    Path key = folder.resolve("id_rsa");
    ImageRoot.run("ssh-keygen", "-q", "-t", "ecdsa", "-b", "521", "-m", "PEM", "-N", "", "-f", key);
    kubeflow.create(
        new SecretBuilder()
            .withMetadata(kubeflow.owned(job, job.getMetadata().getName() + "-ssh"))
            .withType("kubernetes.io/ssh-auth")
            .addToStringData("ssh-privatekey", Files.readString(key))
            .addToStringData("ssh-publickey", Files.readString(Path.of(key + ".pub")))
            .build());
  }

  private void makeHosts(GenericKubernetesResource job, int workers, int slots) {
    String name = job.getMetadata().getName();
    StringBuilder hosts = new StringBuilder();
    for (int i = 0; i < workers; i++) {
      hosts.append(
          "%1$s-worker-%2$d.%1$s.%3$s.svc slots=%4$d%n"
              .formatted(name, i, pods.namespace(), slots));
    }
    kubeflow.create(
        new ConfigMapBuilder()
            .withMetadata(kubeflow.owned(job, name + "-config"))
            .addToData("hostfile", hosts.toString())
            .addToData("discover_hosts.sh", "#!/bin/sh\n")
            .build());
  }

  private String makeWorker(GenericKubernetesResource job, JsonNode replica, int index) {
    String name = job.getMetadata().getName() + "-worker-" + index;
    Map<String, String> labels = labels(job, "worker");
    labels.put(LABEL + "replica-index", Integer.toString(index));
    PodTemplateSpec template = Kubeflow.template(replica, labels);
    Container container = prepare(job, template, name);
    if (container.getCommand().isEmpty() && container.getArgs().isEmpty()) {
      container.setCommand(List.of("/usr/sbin/sshd", "-De"));
    }
    Kubeflow.add(container, "K_MPI_JOB_ROLE", "worker");
    template.getSpec().setRestartPolicy(replica.path("restartPolicy").asText("Never"));
    kubeflow.create(kubeflow.pod(job, name, template));
    return name;
  }

  private String makeLauncher(GenericKubernetesResource job, JsonNode replica, int slots) {
    String name = job.getMetadata().getName() + "-launcher";
    PodTemplateSpec template = Kubeflow.template(replica, labels(job, "launcher"));
    Container container = prepare(job, template, name);
    Kubeflow.add(container, "K_MPI_JOB_ROLE", "launcher");
    Kubeflow.add(container, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
    Kubeflow.add(container, "OMPI_MCA_orte_default_hostfile", CONFIG_FOLDER + "/hostfile");
    Kubeflow.add(container, "OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10");
    Kubeflow.add(container, "OMPI_MCA_orte_set_default_slots", slots);
    Kubeflow.add(container, "NVIDIA_VISIBLE_DEVICES", "");
    Kubeflow.add(container, "NVIDIA_DRIVER_CAPABILITIES", "");
    PodSpec pod = template.getSpec();
    pod.setRestartPolicy(replica.path("restartPolicy").asText("OnFailure"));
    pod.getVolumes()
        .add(
            new VolumeBuilder()
                .withName("mpi-job-config")
                .withNewConfigMap()
                .withName(job.getMetadata().getName() + "-config")
                .withItems(
                    item("hostfile", "hostfile", 0444),
                    item("discover_hosts.sh", "discover_hosts.sh", 0555))
                .endConfigMap()
                .build());
    mount(container, "mpi-job-config", CONFIG_FOLDER);
    kubeflow.create(
        new JobBuilder()
            .withMetadata(kubeflow.owned(job, name))
            .withNewSpec()
            .withTemplate(template)
            .endSpec()
            .build());
    return name;
  }

  /** Gives a pod its name in the job's service, and SSH; returns its container. */
  private static Container prepare(
      GenericKubernetesResource job, PodTemplateSpec template, String name) {
    PodSpec pod = template.getSpec();
    String jobName = job.getMetadata().getName();
    pod.setHostname(name);
    pod.setSubdomain(jobName);
    pod.getVolumes()
        .add(
            new VolumeBuilder()
                .withName("ssh-auth")
                .withNewSecret()
                .withSecretName(jobName + "-ssh")
                .withDefaultMode(0600)
                .withItems(
                    item("ssh-privatekey", "id_rsa", null),
                    item("ssh-publickey", "id_rsa.pub", null),
                    item("ssh-publickey", "authorized_keys", null))
                .endSecret()
                .build());
    Container container = pod.getContainers().getFirst();
    mount(container, "ssh-auth", SSH_FOLDER);
    return container;
  }

  private static KeyToPath item(String key, String path, Integer mode) {
    return new KeyToPathBuilder().withKey(key).withPath(path).withMode(mode).build();
  }

  private static void mount(Container container, String volume, String folder) {
    container
        .getVolumeMounts()
        .add(new VolumeMountBuilder().withName(volume).withMountPath(folder).build());
  }

  private static Map<String, String> labels(GenericKubernetesResource job, String role) {
    Map<String, String> labels = new HashMap<>();
    labels.put(LABEL + "operator-name", "mpi-operator");
    labels.put(LABEL + "job-name", job.getMetadata().getName());
    labels.put(LABEL + "job-role", role);
    return labels;
  }
}
