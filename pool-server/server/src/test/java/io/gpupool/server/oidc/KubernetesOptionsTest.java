// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.util.Set;
import org.junit.jupiter.api.Test;

class KubernetesOptionsTest {
  private static KubernetesOptions options(Set<String> admins, Set<String> readers) {
    return new KubernetesOptions(
        URI.create("https://api"), null, null, KubernetesOptions.AUDIENCE, admins, readers);
  }

  @Test
  void accounts_noneOrTheSameTwice_areTaken() {
    assertThat(options(Set.of(), Set.of()).admins()).isEmpty();
    Set<String> same = Set.of("gpupool/one");
    assertThat(options(same, same).readers()).isEqualTo(same);
  }

  @Test
  void account_withoutNamespace_isRefused() {
    assertThatThrownBy(() -> options(Set.of(), Set.of("one")))
        .hasMessage("'one' is no service account: write NAMESPACE/NAME");
  }
}
