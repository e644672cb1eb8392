// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The effects of ops as ops.txt says them. */
class EffectParserTest {
  private static final Effect.Thing MEMORY = new Effect.Thing("memory", List.of("address"));

  @Test
  void effect_withoutAnOwner_belongsToTheContext() {
    assertThat(EffectParser.parse("makes memory(address)"))
        .isEqualTo(new Effect(Effect.Verb.MAKES, List.of(MEMORY), Effect.CONTEXT, null));
  }

  @Test
  void effect_ofTheSession_hasNoOwner() {
    assertThat(EffectParser.parse("makes memory(address) of session, fixed \"memory of another\""))
        .isEqualTo(new Effect(Effect.Verb.MAKES, List.of(MEMORY), null, "memory of another"));
  }

  @Test
  void effect_ofAnotherObject_namesIt() {
    Effect effect = EffectParser.parse("clears nodes executable of graph(graph)");
    assertThat(effect.things())
        .containsExactly(
            new Effect.Thing("nodes", List.of()), new Effect.Thing("executable", List.of()));
    assertThat(effect.owner()).isEqualTo(new Effect.Thing("graph", List.of("graph")));
  }

  @Test
  void effect_ofNoKnownForm_isRefusedWithItsText() {
    assertThatThrownBy(() -> EffectParser.parse("keeps memory(address)"))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> EffectParser.parse("makes memory(address"))
        .hasMessageContaining("memory(address");
  }
}
