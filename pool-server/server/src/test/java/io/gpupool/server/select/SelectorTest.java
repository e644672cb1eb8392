// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.select;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SelectorTest {
  @Test
  void glob_starsAnywhere_match() {
    assertThat(Glob.matches("*h100*", "nvidia h100 80gb")).isTrue();
    assertThat(Glob.matches("nvidia*gb", "nvidia h100 80gb")).isTrue();
    assertThat(Glob.matches("nvidia", "nvidia h100")).isFalse();
    assertThat(Glob.matches("", "")).isTrue();
    assertThat(Glob.matches("**", "x")).isTrue();
    assertThat(Glob.matches("a*a*a*a*a*b".repeat(8), "a".repeat(256))).isFalse();
  }

  @Test
  void accepts_severalValues_oneIsEnough() {
    Selector models = Selector.in("model", "*H100*", "*H200*");
    assertThat(models.accepts("NVIDIA H200")).isTrue();
    assertThat(models.accepts("NVIDIA A100")).isFalse();
    assertThat(models.text()).isEqualTo("model=*H100*|*H200*");
    assertThat(Selector.atLeast("cc", "8.0").text()).isEqualTo("cc>=8.0");
  }

  @Test
  void accepts_versions_areComparedAsNumbers() {
    Selector atLeast = Selector.atLeast("cc", "9.0");
    assertThat(atLeast.accepts("10.0")).isTrue();
    assertThat(atLeast.accepts("9")).isTrue();
    assertThat(atLeast.accepts("8.9")).isFalse();
    assertThat(atLeast.accepts("")).isFalse();
    assertThat(Selector.in("cc", "9.*").accepts("9.0")).isTrue();
  }
}
