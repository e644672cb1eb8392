// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.net.ConnectException;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;

class FailuresTest {
  @Test
  void reason_ofNestedFailures_saysEachOnceInOneLine() {
    Exception inner = new IOException("no route\n to host");
    assertThat(Failures.reason(new IllegalStateException("it failed", inner)))
        .isEqualTo("it failed: no route to host");
    assertThat(Failures.reason(new IllegalStateException(inner)))
        .isEqualTo("java.io.IOException: no route to host");
    assertThat(Failures.reason(new ConnectException())).isEqualTo("ConnectException");
  }

  @Test
  void reason_ofAnApiServerThatIsAway_namesIt() {
    Config config =
        new ConfigBuilder(Config.empty())
            .withMasterUrl("http://127.0.0.1:1")
            .withRequestRetryBackoffLimit(0)
            .build();
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
      KubernetesClientException failure =
          Assertions.assertThrows(
              KubernetesClientException.class,
              () -> client.namespaces().withName("kube-system").get());
      assertThat(Failures.reason(failure)).contains("kube-system").contains("ConnectException");
    }
  }
}
