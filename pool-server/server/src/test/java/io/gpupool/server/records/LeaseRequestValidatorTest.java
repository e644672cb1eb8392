// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import static io.gpupool.control.v1.GpuSelector.Operator.OPERATOR_AT_LEAST;
import static io.gpupool.control.v1.GpuSelector.Operator.OPERATOR_IN;
import static io.gpupool.control.v1.GpuSelector.Operator.OPERATOR_UNSPECIFIED;
import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_BATCH;
import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_LATENCY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.InvalidProtocolBufferException;
import io.gpupool.control.v1.GpuSelector;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.rejection.InvalidFieldException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LeaseRequestValidatorTest {
  @Test
  void check_emptyRequest_isOneWholeGpu() throws Exception {
    assertThat(
            LeaseRequestValidator.check(LeaseRequest.getDefaultInstance(), Principal.ANYONE)
                .requirements())
        .isEqualTo(new GpuRequirements(1, new GpuRequirements.Size.Fraction(1), null, List.of()));
  }

  @Test
  void check_class_isBatchUnlessItIsNamed() throws Exception {
    assertThat(LeaseRequestValidator.check(request().build(), Principal.ANYONE).leaseClass())
        .isEqualTo(LeaseClass.BATCH);
    assertThat(
            LeaseRequestValidator.check(
                    request().setClass_(LEASE_CLASS_BATCH).build(), Principal.ANYONE)
                .leaseClass())
        .isEqualTo(LeaseClass.BATCH);
    assertThat(
            LeaseRequestValidator.check(
                    request().setClass_(LEASE_CLASS_LATENCY).build(), Principal.ANYONE)
                .leaseClass())
        .isEqualTo(LeaseClass.LATENCY);
  }

  @Test
  void check_resumeWindow_isTheUsualOneUnlessTheRequestHasOne() throws Exception {
    assertThat(resumeWindow(request())).isEqualTo(60_000);
    assertThat(resumeWindow(request().setResumeWindowMillis(0))).isZero();
    assertThat(resumeWindow(request().setResumeWindowMillis(3_600_000))).isEqualTo(3_600_000);
  }

  private static long resumeWindow(LeaseRequest.Builder request) throws InvalidFieldException {
    return LeaseRequestValidator.check(request.build(), Principal.ANYONE)
        .limits()
        .resumeWindowMillis();
  }

  @Test
  void check_valuesOutOfBounds_saysTheBound() {
    assertInvalid(request().setGpus(65), "1 to 64");
    assertInvalid(request().setGpus(-1), "4294967295");
    assertInvalid(request().setFraction(0), "0.01 to 1");
    assertInvalid(request().setFraction(1.5), "a number of GPUs");
    assertInvalid(request().setFraction(Double.NaN), "NaN");
    assertInvalid(request().setFraction(Double.POSITIVE_INFINITY), "Infinity");
    assertInvalid(request().setMemoryBytes(1), "1 MiB");
    assertInvalid(request().setMemoryBytes(-1), "8 EiB");
    assertInvalid(request().setComputePercent(0.5), "1 to 100");
    assertInvalid(request().setComputePercent(0), "1 to 100");
    assertInvalid(request().setComputePercent(101), "1 to 100");
    assertInvalid(request().setClass_Value(3), "class is 3; give batch or latency");
    assertInvalid(request().setClass_Value(-1), "batch or latency");
    assertInvalid(request().setComputePercent(Double.NaN), "1 to 100");
    assertInvalid(request().addSelectors(selector("colour", OPERATOR_IN, "red")), "model, server");
    assertInvalid(request().addSelectors(selector("model", OPERATOR_IN, "x".repeat(129))), "128");
    assertInvalid(
        request().addSelectors(selector("model", OPERATOR_AT_LEAST, "8.0")),
        "selectors is 'model>=8.0'; give model, server");
    assertInvalid(request().addSelectors(selector("label.", OPERATOR_IN, "x")), "label.NAME");
    assertInvalid(
        request().addSelectors(selector("cc", OPERATOR_AT_LEAST, "new")),
        "a version such as 8.0 for cc");
    assertInvalid(
        request().addSelectors(selector("cc", OPERATOR_UNSPECIFIED, "8.0")), "in and at-least");
    assertInvalid(
        request().addSelectors(GpuSelector.newBuilder().setKey("cc").setOperator(OPERATOR_IN)),
        "a value for cc");
    assertInvalid(request().setIdleTimeoutMillis(10), "5 s to 366 days");
    assertInvalid(request().setIdleTimeoutMillis(-1), "over 366 days");
    assertInvalid(request().setTimeLimitMillis(Long.MAX_VALUE), "366 days");
    assertInvalid(
        request().setResumeWindowMillis(3_600_001),
        "resume_window_millis is 1h0.001s; give 0 to 1 h");
    assertInvalid(request().setResumeWindowMillis(-1), "give 0 to 1 h");
    assertInvalid(request().setTenant("x".repeat(65)), "64");
    assertInvalid(request().setPartition("x".repeat(65)), "at most 64");
    assertInvalid(request().setPriority(Integer.MIN_VALUE), "1000");
    assertInvalid(request().setWaitMillis(-1), "30 days");
  }

  @Test
  void check_randomMessages_giveAnAskThatCanBePlacedOrAReason() {
    Random random = new Random(3);
    Capacity capacity = new Ground(List.of(PlacementTest.gpu("s", 0, 8L << 30))).capacity;
    int asks = 0;
    for (int i = 0; i < 100_000; i++) {
      byte[] bytes = randomRequest(random).toByteArray();
      for (int flips = random.nextInt(3); flips > 0 && bytes.length > 0; flips--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      }
      try {
        GpuRequirements requirements =
            LeaseRequestValidator.check(LeaseRequest.parseFrom(bytes), Principal.ANYONE)
                .requirements();
        assertThat(Placement.place(requirements, "", capacity.snapshot())).isNotNull();
        assertThat(requirements.describe()).doesNotContain("\n");
        asks++;
      } catch (InvalidProtocolBufferException e) {
        // gRPC answers this one
      } catch (InvalidFieldException e) {
        assertThat(e.getMessage()).isNotBlank().doesNotContain("\n");
      }
    }
    assertThat(asks).isGreaterThan(1000);
  }

  @Test
  void plain_controlCharactersAndLength_areCut() {
    assertThat(HolderName.plain("a\u001b[31m\nb\u202e")).isEqualTo("a[31mb");
    assertThat(HolderName.plain("x".repeat(1000))).hasSize(128);
  }

  private static LeaseRequest randomRequest(Random random) {
    LeaseRequest.Builder request = request().setGpus(random.nextInt(4));
    switch (random.nextInt(4)) {
      case 0 -> request.setFraction(random.nextDouble() * 1.1);
      case 1 -> request.setMemoryBytes(random.nextLong() >> random.nextInt(64));
      case 2 -> request.setFraction(Double.longBitsToDouble(random.nextLong()));
      default -> request.clearSize();
    }
    if (random.nextInt(4) == 0) {
      request.setComputePercent(Double.longBitsToDouble(random.nextLong()));
    }
    if (random.nextInt(4) == 0) {
      request.addSelectors(
          selector(
              random.nextBoolean() ? "model" : "uuid", OPERATOR_IN, "*" + random.nextInt() + "\n"));
    }
    return request.build();
  }

  private static GpuSelector selector(String key, GpuSelector.Operator operator, String value) {
    return GpuSelector.newBuilder().setKey(key).setOperator(operator).addValues(value).build();
  }

  private static LeaseRequest.Builder request() {
    return LeaseRequest.newBuilder();
  }

  private static void assertInvalid(LeaseRequest.Builder request, String reason) {
    assertThatThrownBy(() -> LeaseRequestValidator.check(request.build(), Principal.ANYONE))
        .isInstanceOf(InvalidFieldException.class)
        .hasMessageContaining(reason);
  }
}
