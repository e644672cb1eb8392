// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The examples of distributed jobs in a real Kubernetes of two nodes: NCCL between two pods, whose
 * software GPUs are of two servers. The manifests are the examples' but for the image; Kubeflow's
 * operators are modelled ({@link Kubeflow}, {@link MpiOperator}).
 */
class DistributedJobsIT {
  private static final Path EXAMPLES = Cluster.DEPLOY.resolve("examples/kubernetes");
  private static final Path FRAMEWORKS = Cluster.DEPLOY.resolve("target/gpupool/lib/python");
  private static final Duration PATIENCE = Duration.ofMinutes(6);
  private static final KubernetesSerialization YAML = new KubernetesSerialization();

  // Two shares of 8 GiB do not fit on one.
  private static final String GPU_MEMORY = "12Gi";

  @TempDir private static Path folder;
  private static ClusterWithPool pool;
  private static Pods pods;

  @BeforeAll
  static void install() throws IOException {
    TwoNodes.assumeWanted();
    DistributedImage.assumeParts();
    Path image = folder.resolve("distributed.tar");
    DistributedImage.make(folder.resolve("distributed"), image);
    pool =
        ClusterWithPool.start(
            2,
            folder,
            2,
            cluster ->
                Installation.twoServers(cluster, folder)
                    .replace("memory: 80Gi", "memory: " + GPU_MEMORY));
    pool.cluster().load(image);
    pods = pool.pods();
    DryRuns.makeKinds(pool.cluster());
  }

  @AfterAll
  static void end() {
    if (pool != null) {
      pool.close();
      pool = null;
    }
  }

  @AfterEach
  void nothingIsLeft() {
    pods.deleteWorkloads();
    pool.deletePods(Duration.ofMinutes(3));
  }

  @Test
  void mpiJob_twoWorkers_reduceAcrossServers() throws IOException {
    pods.apply(example("mpijob.yaml").toString());
    String launcher = new MpiOperator(pods).run("mpi", folder);
    awaitLeasesOfBothServers();
    String launched = pods.withLabel("batch.kubernetes.io/job-name", launcher);
    awaitEnd(launched);
    assertThat(pods.log(launched))
        .contains("rank 0 of 2 on mpi-worker-0", "rank 1 of 2 on mpi-worker-1")
        .contains("25 sizes OK");
  }

  @Test
  void pyTorchJob_twoWorkers_trainOneModelAcrossServers() throws IOException {
    List<Path> python = DistributedImage.pythonFolders();
    assumeFalse(
        python.isEmpty(), "skipped: GPUPOOL_TEST_PYTHON names no Python with PyTorch's CUDA build");
    JsonNode job = example("pytorchjob.yaml");
    for (JsonNode template : job.findValues("template")) {
      mount(template, python);
    }
    pods.apply(job.toString());
    List<String> names =
        new Kubeflow(pool.cluster(), pods.namespace()).runPyTorchJob("distributed");
    assertThat(names).containsExactly("distributed-master-0", "distributed-worker-0");
    awaitLeasesOfBothServers();
    names.forEach(DistributedJobsIT::awaitEnd);
    assertThat(weights(names.get(0), 0)).isEqualTo(weights(names.get(1), 1));
  }

  /** An example as it is, but with the image of the test. */
  private static JsonNode example(String name) throws IOException {
    String text =
        Files.readString(EXAMPLES.resolve(name))
            .replaceAll("image: \\S+", "image: " + DistributedImage.NAME);
    return YAML.unmarshal(text, JsonNode.class);
  }

  /** Gives a pod Python from this machine, and what PyTorch needs on a software GPU. */
  private static void mount(JsonNode template, List<Path> python) {
    ObjectNode container = (ObjectNode) template.path("spec").path("containers").path(0);
    ArrayNode mounts = container.withArray("volumeMounts");
    ArrayNode volumes = ((ObjectNode) template.path("spec")).withArray("volumes");
    for (Path path : python) {
      String name = "python-" + volumes.size();
      volumes.addObject().put("name", name).putObject("hostPath").put("path", path.toString());
      mounts.addObject().put("name", name).put("mountPath", path.toString()).put("readOnly", true);
    }
    volumes
        .addObject()
        .put("name", "torch")
        .putObject("hostPath")
        .put("path", FRAMEWORKS.toString());
    mounts
        .addObject()
        .put("name", "torch")
        .put("mountPath", "/gpupool-python")
        .put("readOnly", true);
    ArrayNode variables = container.withArray("env");
    variables.addObject().put("name", "PYTHONPATH").put("value", "/gpupool-python");
    variables.addObject().put("name", "GPUPOOL_TORCH_FALLBACK").put("value", "cpu");
    variables.addObject().put("name", "OMP_NUM_THREADS").put("value", "1");
  }

  private static void awaitLeasesOfBothServers() {
    Later.within(
        Duration.ofMinutes(2),
        () ->
            assertThat(pool.gpupool().inController("gpupool", "lease", "list"))
                .contains("gpupool-server-0/0", "gpupool-server-1/0"));
  }

  private static void awaitEnd(String name) {
    Later.within(
        PATIENCE,
        () ->
            assertThat(pods.phase(name))
                .as("%s: %s %s", name, pods.log(name), pods.events(name))
                .isEqualTo("Succeeded"));
  }

  /** The weights that a rank says it has; all ranks add up the gradients of all. */
  private static String weights(String pod, int rank) {
    String log = pods.log(pod);
    Matcher said =
        Pattern.compile("rank " + rank + " of 2: loss \\S+, weights (\\S+)").matcher(log);
    assertThat(said.find()).as(log).isTrue();
    return said.group(1);
  }
}
