// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.control.v1.RejectionReason.KindCase;
import io.gpupool.rejection.RejectionSamples;
import io.gpupool.rejection.RejectionText;
import java.math.BigDecimal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RejectionAdviceTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "NO_CAPACITY         | ; lower gpupool.io/gpu or wait",
        "SERVERS_DRAINING    | ; wait for other GPUs, or have an admin uncordon the node",
        "KEPT_FOR_EARLIER    | \"\"",
        "OVER_QUOTA          | ; it waits for other pods of the tenant to end",
        "PRIORITY_TOO_HIGH   | ; lower gpupool.io/priority",
        "EMPTY_POOL          | \"\"",
        "NO_MATCH            | ; change gpupool.io/select",
        "NO_PARTITION        | \"\"",
        "RESERVED_FOR_OTHERS | ; change gpupool.io/select",
        "SLICES_ONLY         | ; lower gpupool.io/gpu-count or gpupool.io/gpu",
        "TOO_LARGE           | ; lower gpupool.io/gpu",
        "TOO_FEW_GPUS        | ; lower gpupool.io/gpu-count or gpupool.io/gpu",
        "QUEUE_FULL          | \"\"",
        "SERVER_STOPPING     | \"\"",
        "CANCELLED           | \"\"",
        "TOKEN_REVOKED       | \"\"",
        "NOT_RECORDED        | \"\"",
        "NOT_SCHEDULED_YET   | \"\"",
        "GANG_INCOMPLETE     | \"\"",
        "GANG_NO_CAPACITY    | ; lower gpupool.io/gpu or wait",
        "KIND_NOT_SET        | \"\"",
      })
  void text_ofEachKind_namesResourcesAndAnnotations(KindCase kind, String advice) {
    RejectionReason reason = RejectionSamples.of(kind);
    assertThat(RejectionAdvice.FRACTION.text(reason)).isEqualTo(RejectionText.of(reason) + advice);
  }

  @Test
  void text_ofAField_namesItsResource() {
    assertThat(RejectionAdvice.FRACTION.text(RejectionSamples.of(KindCase.INVALID_FIELD)))
        .isEqualTo("gpupool.io/gpu-compute is 0.5; give 1 to 100");
  }

  @ParameterizedTest
  @EnumSource(KindCase.class)
  void text_ofEachKind_hasNoWordsOfTheCommandLine(KindCase kind) {
    for (RejectionAdvice advice : RejectionAdvice.values()) {
      assertThat(advice.text(RejectionSamples.of(kind)))
          .doesNotContainPattern(RejectionSamples.COMMAND_LINE);
      assertThat(advice.text(Refused.newBuilder().setReason(RejectionSamples.of(kind)).build()))
          .doesNotContainPattern(RejectionSamples.COMMAND_LINE);
    }
  }

  @Test
  void text_forWantOfRoom_namesWhatTheOwnerAskedWith() {
    RejectionReason full = RejectionSamples.of(KindCase.NO_CAPACITY);
    GpuRequest memory = new GpuRequest(1, new GpuRequest.Size.Memory(1L << 30), null);
    GpuRequest fraction = new GpuRequest(1, new GpuRequest.Size.Fraction(BigDecimal.ONE), null);
    assertThat(RejectionAdvice.of(memory).text(full))
        .endsWith("; lower gpupool.io/gpu-memory or wait");
    assertThat(RejectionAdvice.of(fraction).text(full)).endsWith("; lower gpupool.io/gpu or wait");
    assertThat(RejectionAdvice.CLAIM.text(full))
        .endsWith("; lower the capacity that the claim requests or wait");
  }
}
