// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WebhookTest {
  @Test
  void versions_areToldApart() {
    assertThat(Webhook.hasGates("1", "26")).isFalse();
    assertThat(Webhook.hasGates("1", "27+")).isTrue();
    assertThat(Webhook.hasGates("1", "34")).isTrue();
    assertThat(Webhook.hasGates("1", "9-gke")).isFalse();
    assertThat(Webhook.hasGates("2", "0")).isTrue();
    assertThat(Webhook.hasGates("", "")).isFalse();
  }
}
