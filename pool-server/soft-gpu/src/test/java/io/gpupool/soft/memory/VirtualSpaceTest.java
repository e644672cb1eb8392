// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.ValueLayout;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class VirtualSpaceTest {
  private static final long GRANULE = VirtualSpace.GRANULE_BYTES;
  private static final int DEVICE = 0;
  private static final int OTHER_DEVICE = 1;

  private final DeviceMemory memory = new DeviceMemory(DEVICE, 16 * GRANULE);
  private final VirtualSpace space = memory.virtual();

  @AfterEach
  void close() {
    memory.close();
  }

  private static void assertStatus(ThrowingCallable call, CudaStatus status) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            GpuException.class, failure -> assertThat(failure.status()).isEqualTo(status));
  }

  @Test
  void reserve_addresses_takesNoMemory() {
    long address = space.reserve(1000 * GRANULE, 0);

    assertThat(address % GRANULE).isZero();
    assertThat(memory.usedBytes()).isZero();
    assertThat(memory.map().isLive(address, 1)).isFalse();
    assertThat(space.reserve(GRANULE, 64 * GRANULE) % (64 * GRANULE)).isZero();
    assertStatus(() -> space.reserve(GRANULE + 1, 0), CudaStatus.INVALID_VALUE);
    assertStatus(() -> space.reserve(GRANULE, 3), CudaStatus.INVALID_VALUE);
    assertStatus(() -> space.reserve(1L << 50, 0), CudaStatus.OUT_OF_MEMORY);
  }

  @Test
  void map_withAccess_isMemoryForThatDeviceAlone() {
    long address = space.reserve(4 * GRANULE, 0);
    PhysicalBlock block = memory.createBlock(2 * GRANULE);
    space.map(address + GRANULE, 2 * GRANULE, 0, block);

    assertThat(memory.map().isLive(address + GRANULE, 1)).isFalse();
    assertStatus(() -> memory.view(address + GRANULE, 1), CudaStatus.INVALID_VALUE);

    space.setAccess(address + GRANULE, 2 * GRANULE, DEVICE, VirtualSpace.READ_WRITE);

    assertThat(memory.map().isLive(address + GRANULE, 2 * GRANULE)).isTrue();
    assertThat(memory.map().isLive(address, 1)).isFalse();
    assertThat(space.allows(address + GRANULE, 2 * GRANULE, OTHER_DEVICE)).isFalse();
    assertThat(space.access(address + 2 * GRANULE, DEVICE)).isEqualTo(VirtualSpace.READ_WRITE);
    memory.view(address + GRANULE, 2 * GRANULE).fill((byte) 7);
    assertThat(memory.view(address + 3 * GRANULE - 1, 1).get(ValueLayout.JAVA_BYTE, 0))
        .isEqualTo((byte) 7);
  }

  @Test
  void map_oneBlockTwice_showsTheSameBytes() {
    long address = space.reserve(2 * GRANULE, 0);
    PhysicalBlock block = memory.createBlock(GRANULE);
    space.map(address, GRANULE, 0, block);
    space.map(address + GRANULE, GRANULE, 0, block);
    space.setAccess(address, 2 * GRANULE, DEVICE, VirtualSpace.READ_WRITE);

    memory.view(address + 100, 8).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, 123L);

    assertThat(memory.view(address + GRANULE + 100, 8).get(ValueLayout.JAVA_LONG_UNALIGNED, 0))
        .isEqualTo(123);
  }

  @Test
  void block_released_livesUntilItIsUnmapped() {
    long address = space.reserve(GRANULE, 0);
    PhysicalBlock block = memory.createBlock(GRANULE);
    space.map(address, GRANULE, 0, block);
    block.release();
    assertThat(memory.usedBytes()).isEqualTo(GRANULE);
    assertStatus(() -> space.free(address, GRANULE), CudaStatus.INVALID_VALUE);

    space.unmap(address, GRANULE);

    assertThat(memory.usedBytes()).isZero();
    assertThat(memory.map().isLive(address, 1)).isFalse();
    space.free(address, GRANULE);
    assertStatus(() -> space.free(address, GRANULE), CudaStatus.INVALID_VALUE);
  }

  @Test
  void blocks_andAllocations_shareTheDevicesMemory() {
    PhysicalBlock block = memory.createBlock(15 * GRANULE);
    assertStatus(() -> memory.createBlock(2 * GRANULE), CudaStatus.OUT_OF_MEMORY);
    assertStatus(() -> memory.allocate(GRANULE + 1, this), CudaStatus.OUT_OF_MEMORY);
    long address = memory.allocate(GRANULE, this);
    assertStatus(() -> memory.createBlock(GRANULE), CudaStatus.OUT_OF_MEMORY);
    memory.free(address);
    block.release();

    assertThat(memory.createBlock(16 * GRANULE).sizeBytes()).isEqualTo(16 * GRANULE);
  }

  @Test
  void map_whatDoesNotFit_isRefused() {
    long address = space.reserve(2 * GRANULE, 0);
    PhysicalBlock block = memory.createBlock(GRANULE);

    assertStatus(() -> space.map(address, 2 * GRANULE, 0, block), CudaStatus.INVALID_VALUE);
    assertStatus(() -> space.map(address, GRANULE, GRANULE, block), CudaStatus.INVALID_VALUE);
    assertStatus(() -> space.map(address + 1, GRANULE, 0, block), CudaStatus.INVALID_VALUE);
    assertStatus(
        () -> space.map(address + 2 * GRANULE, GRANULE, 0, block), CudaStatus.INVALID_VALUE);
    space.map(address, GRANULE, 0, block);
    assertStatus(() -> space.map(address, GRANULE, 0, block), CudaStatus.INVALID_VALUE);
    assertStatus(() -> space.unmap(address, 2 * GRANULE), CudaStatus.INVALID_VALUE);
    assertStatus(
        () -> space.setAccess(address + GRANULE, GRANULE, DEVICE, VirtualSpace.READ_WRITE),
        CudaStatus.INVALID_VALUE);
    assertStatus(() -> space.setAccess(address, GRANULE, DEVICE, 2), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.createBlock(GRANULE / 2), CudaStatus.INVALID_VALUE);
  }
}
