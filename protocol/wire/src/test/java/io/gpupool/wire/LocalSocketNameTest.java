// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.security.SecureRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LocalSocketNameTest {
  private static final SecureRandom RANDOM = new SecureRandom();

  @Test
  void name_ofEitherKind_isReadAsItWasMade() {
    for (LocalSocketName made :
        new LocalSocketName[] {
          LocalSocketName.randomAbstract(RANDOM), LocalSocketName.randomFile(RANDOM)
        }) {
      assertThat(LocalSocketName.of(made.text())).contains(made);
    }
    assertThat(LocalSocketName.randomAbstract(RANDOM).isAbstract()).isTrue();
    assertThat(LocalSocketName.randomFile(RANDOM).isAbstract()).isFalse();
    assertThat(LocalSocketName.randomFile(RANDOM)).isNotEqualTo(LocalSocketName.randomFile(RANDOM));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "@",
        "@gpupool-stream-",
        "gpupool-stream-0123456789abcdef",
        "@gpupool-stream-0123456789abcdef.sock",
        "@gpupool-stream-0123456789abcde",
        "@gpupool-stream-0123456789abcdef0",
        "@gpupool-stream-0123456789ABCDEF",
        "gpupool-stream-0123456789abcdef.sock\n",
        "../gpupool-stream-0123456789abcdef.sock",
        "/run/gpupool/gpupool-stream-0123456789abcdef.sock",
        "gpupool-stream-0123456789abcdef.sock/../agent.sock",
        "agent.sock",
        "@/tmp/.X11-unix/X0"
      })
  void name_ofAnotherForm_isNone(String text) {
    assertThat(LocalSocketName.of(text)).isEmpty();
    assertThatThrownBy(() -> new LocalSocketName(text))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
