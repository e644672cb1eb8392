// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;

class SmResourceTest {
  private static final int MOST = Integer.MAX_VALUE;

  private static SmResource gpu(int count, int capability) {
    return new SmResource(0, 0, count, 0, capability);
  }

  private static CudaStatus refusal(Runnable call) {
    return catchThrowableOfType(GpuException.class, call::run).status();
  }

  @Test
  void split_ofCapability9_isInEights() {
    SmResource.Split split = gpu(132, 90).split(MOST, 0, 1, 1);
    assertThat(split.groups()).hasSize(16).allMatch(group -> group.count() == 8);
    assertThat(split.groups().get(3).first()).isEqualTo(24);
    assertThat(split.remaining().count()).isEqualTo(4);

    assertThat(gpu(132, 90).split(2, 0, 17, 1).groups()).hasSize(2).allMatch(g -> g.count() == 24);
    assertThat(gpu(132, 90).split(MOST, 1, 3, 1).groups()).hasSize(33);
    assertThat(gpu(108, 80).split(MOST, 0, 0, 1).groups()).hasSize(27);
    assertThat(gpu(80, 75).split(MOST, 0, 3, 1).groups()).hasSize(20);
  }

  @Test
  void split_ofAGpuWithFewMultiprocessors_isOneByOne() {
    SmResource.Split split = gpu(2, 90).split(1, 0, 1, 1);
    assertThat(split.groups()).hasSize(1).allMatch(group -> group.count() == 1);
    assertThat(split.remaining().count()).isEqualTo(1);
    assertThat(gpu(1, 90).split(MOST, 0, 1, 1).remaining().count()).isZero();
  }

  @Test
  void split_ofWhatCannotBe_isRefused() {
    SmResource gpu = gpu(16, 90);
    assertThat(refusal(() -> gpu.split(1, 4, 1, 1))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(() -> gpu.split(1, 0, 17, 1))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(() -> gpu.split(0, 0, 8, 1))).isEqualTo(CudaStatus.INVALID_VALUE);
    SmResource part = gpu.split(1, 0, 8, 1).groups().getFirst();
    assertThat(refusal(() -> part.split(1, 0, 8, 2)))
        .isEqualTo(CudaStatus.INVALID_RESOURCE_CONFIGURATION);
    assertThat(refusal(() -> gpu(20, 90).split(1, 0, 17, 1)))
        .as("24 of 20")
        .isEqualTo(CudaStatus.INVALID_RESOURCE_CONFIGURATION);
  }

  @Test
  void parts_together_areOfOneSplit() {
    SmResource.Split one = gpu(32, 90).split(2, 0, 8, 1);
    SmResource.Split other = gpu(32, 90).split(2, 0, 8, 2);
    SmResource first = one.groups().getFirst();

    assertThat(SmResource.together(List.of(first, one.remaining())).count()).isEqualTo(24);
    assertThat(SmResource.together(List.of(first)).split()).as("may be split again").isZero();
    assertThat(SmResource.together(List.of(gpu(32, 90))).count()).isEqualTo(32);
    assertThat(refusal(() -> SmResource.together(List.of(first, other.remaining()))))
        .isEqualTo(CudaStatus.INVALID_RESOURCE_CONFIGURATION);
    assertThat(refusal(() -> SmResource.together(List.of(gpu(32, 90), gpu(32, 90)))))
        .isEqualTo(CudaStatus.INVALID_RESOURCE_CONFIGURATION);
  }

  @Test
  void resource_writtenAndRead_isTheSame() {
    try (Arena arena = Arena.ofConfined()) {
      long at = arena.allocate(SmResource.BYTES, 8).address();
      SmResource part = gpu(132, 90).split(1, 0, 8, 7).remaining();
      part.write(at);
      assertThat(SmResource.read(at, _ -> 90)).isEqualTo(part);
      assertThat(Memory.getInt(at + 96)).isEqualTo(124);
      assertThat(Memory.getInt(at + 100)).isEqualTo(8);
      assertThat(Memory.getInt(at + 104)).isEqualTo(8);

      gpu(0, 90).write(at);
      assertThat(refusal(() -> SmResource.read(at, _ -> 90)))
          .isEqualTo(CudaStatus.INVALID_RESOURCE_TYPE);
    }
  }
}
