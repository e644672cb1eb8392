// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.api.model.apps.DaemonSetBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.k8s.api.TestApiServer;
import io.gpupool.k8s.command.Child;
import io.gpupool.k8s.command.Kubeconfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What a node's process leaves when it is told to end. */
class NodeEndIT {
  private static final String PATH = "/apis/apps/v1/namespaces/gpus/daemonsets/pool-node";

  @RegisterExtension private final TestApiServer apiServer = new TestApiServer();
  private final KubernetesClient client = apiServer.client();
  @TempDir private Path node;

  @BeforeEach
  void install() throws IOException {
    Files.createDirectories(node.resolve("image/shim"));
    Files.createDirectories(node.resolve("image/nccl"));
    Files.writeString(node.resolve("image/shim/libcuda.so.1"), "shim");
    Files.createDirectories(node.resolve("kubelet/device-plugins"));
    client
        .resource(
            new DaemonSetBuilder()
                .withNewMetadata()
                .withNamespace("gpus")
                .withName("pool-node")
                .endMetadata()
                .build())
        .create();
  }

  private Child start() throws Exception {
    Child child =
        new Child(
            node,
            Map.of(
                "KUBECONFIG",
                Kubeconfig.write(node, apiServer.port()).toString(),
                "POD_NAMESPACE",
                "gpus"),
            "node",
            "--pool=127.0.0.1:1",
            "--node=node-1",
            "--name=pool",
            "--shim-source=" + node.resolve("image/shim"),
            "--shim-folder=" + node.resolve("run/shim"),
            "--agent-folder=" + node.resolve("run"),
            "--kubelet-folder=" + node.resolve("kubelet"),
            "--cdi-folder=" + node.resolve("cdi"),
            "--health-port=0");
    assertThat(child.get("/readyz").body()).contains("no kubelet watches the device plugin");
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> child.log().contains("of DaemonSet gpus/pool-node"));
    assertThat(node.resolve("run/agent.sock")).exists();
    await().until(() -> Files.exists(node.resolve("kubelet/device-plugins/gpupool.sock")));
    return child;
  }

  private void requireEnd(Child child) throws Exception {
    assertThat(child.terminate()).as(child.log()).isZero();
    assertThat(child.log()).doesNotContain("SO_KEEPALIVE").doesNotContain("\tat ");
    assertThat(node.resolve("run/agent.sock")).doesNotExist();
    assertThat(node.resolve("kubelet/device-plugins/gpupool.sock")).doesNotExist();
  }

  @Test
  void end_ofThePodAlone_leavesWhatContainersHaveMounted() throws Exception {
    try (Child child = start()) {
      requireEnd(child);
      assertThat(node.resolve("run/shim/libcuda.so.1")).hasContent("shim");
      assertThat(node.resolve("cdi/gpupool.io-gpu.json")).exists();
    }
  }

  @Test
  void end_ofTheRelease_leavesNothing() throws Exception {
    try (Child child = start()) {
      // Of a pod that is still there; no kubelet can have it removed any more.
      Files.writeString(node.resolve("cdi/gpupool.io-claim-1.json"), "{}");
      Path streams = Files.createDirectories(node.resolve("run/streams"));
      Files.writeString(streams.resolve("gpupool-stream-0123456789abcdef.sock"), "");
      client.apps().daemonSets().inNamespace("gpus").withName("pool-node").delete();
      requireEnd(child);
      assertThat(node.resolve("run")).isEmptyDirectory();
      assertThat(node.resolve("cdi")).isEmptyDirectory();
    }
  }

  @Test
  void end_ofTheReleaseWithItsRights_leavesNothing() throws Exception {
    try (Child child = start()) {
      apiServer.expect().get().withPath(PATH).andReturn(403, "{}").always();
      requireEnd(child);
      assertThat(node.resolve("run")).isEmptyDirectory();
    }
  }

  @Test
  void end_whileTheApiServerDoesNotAnswer_leavesWhatContainersHaveMounted() throws Exception {
    try (Child child = start()) {
      apiServer.stop();
      requireEnd(child);
      assertThat(node.resolve("run/shim/libcuda.so.1")).hasContent("shim");
    }
  }
}
