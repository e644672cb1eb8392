// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.k8s.identity.PodTokens.PodToken;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PodTokensTest {
  private static final String UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";

  @TempDir private Path node;

  private PodTokens tokens() throws IOException {
    StandInProc proc = new StandInProc(node.resolve("proc"));
    proc.process(42, 1000, "0::/kubepods/burstable/pod" + UID + "/" + "0123456789abcdef".repeat(4));
    proc.process(43, 1000, "0::/system.slice/ssh.service");
    return new PodTokens(new PodProcesses(node.resolve("proc")), node.resolve("kubelet"));
  }

  private Path folder() throws IOException {
    return Files.createDirectories(
        node.resolve("kubelet/pods/" + UID + "/volumes/kubernetes.io~projected/gpupool-token"));
  }

  @Test
  void pod_tokenProjected_isReadAnewEachTime() throws IOException {
    PodTokens tokens = tokens();
    // As the kubelet lays it out and replaces it.
    for (String token : new String[] {"first", "second"}) {
      Path data = Files.createDirectories(folder().resolve(".." + token));
      Files.writeString(data.resolve("token"), token);
      Files.deleteIfExists(folder().resolve("token"));
      Files.createSymbolicLink(folder().resolve("token"), Path.of(".." + token, "token"));
      PodToken pod = tokens.podOf(42, 1000);
      assertThat(pod.uid()).isEqualTo(UID);
      assertThat(pod.token().get()).isEqualTo(token);
      assertThat(tokens.podOf(42, 1000)).isEqualTo(pod);
    }
  }

  @Test
  void pod_noToken_isRefusedAndAsksForTheWebhook() throws IOException {
    PodTokens tokens = tokens();
    assertThatThrownBy(() -> tokens.podOf(42, 1000))
        .isInstanceOf(PoolRequestException.class)
        .hasMessageContaining(UID)
        .hasMessageContaining("no gpupool token")
        .hasMessageContaining("webhook");
  }

  @Test
  void pod_tokenIsNone_isRefused() throws IOException {
    PodTokens tokens = tokens();
    Files.writeString(folder().resolve("token"), "\n");
    assertThatThrownBy(() -> tokens.podOf(42, 1000))
        .isInstanceOf(PoolRequestException.class)
        .hasMessageContaining("empty");
    Files.writeString(folder().resolve("token"), "x".repeat(100_000));
    assertThatThrownBy(() -> tokens.podOf(42, 1000))
        .isInstanceOf(PoolRequestException.class)
        .hasMessageContaining("too long");
  }

  @Test
  void process_inNoPodOrAnotherByNow_isRefused() throws IOException {
    PodTokens tokens = tokens();
    Files.writeString(folder().resolve("token"), "token");
    assertThatThrownBy(() -> tokens.podOf(43, 1000))
        .isInstanceOf(PoolRequestException.class)
        .hasMessageContaining("for pods alone");
    assertThatThrownBy(() -> tokens.podOf(42, 999))
        .isInstanceOf(PoolRequestException.class)
        .hasMessageContaining("another one by now");
  }
}
