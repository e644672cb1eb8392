// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class DeviceMemoryTest {
  private static final long MEBIBYTE = 1 << 20;

  private final DeviceMemory memory = new DeviceMemory(0, 512 * MEBIBYTE);

  @AfterEach
  void close() {
    memory.close();
  }

  @Test
  void allocate_firstOfFirstDevice_liesAtTheDeviceBase() {
    assertThat(memory.allocate(100, this)).isEqualTo(AddressPlace.numbered(0).base());
  }

  @Test
  void devices_sameOrdinalTwice_getDifferentAddresses() {
    try (DeviceMemory other = new DeviceMemory(0, MEBIBYTE)) {
      assertThat(other.allocate(1, this)).isNotEqualTo(memory.allocate(1, this));
    }
  }

  @Test
  void address_allocated_isThatOfTheSameByteInThisProcess() {
    long address = memory.allocate(4096, this);

    memory.view(address, 4096).set(ValueLayout.JAVA_INT, 40, 123456);

    MemorySegment raw = MemorySegment.ofAddress(address).reinterpret(4096);
    assertThat(raw.get(ValueLayout.JAVA_INT, 40)).isEqualTo(123456);
  }

  @Test
  void memoryMap_allocateAndFree_followsLiveness() {
    long address = memory.allocate(1000, this);

    assertThat(memory.map().isLive(address, 1000)).isTrue();
    assertThat(memory.map().isLive(address + 1024, 1)).isFalse();
    memory.free(address);
    assertThat(memory.map().isLive(address, 1)).isFalse();
  }

  @Test
  void allocate_allOfIt_worksAndOneMoreByteDoesNot() {
    long address = memory.allocate(512 * MEBIBYTE, this);

    assertStatus(() -> memory.allocate(1, this), CudaStatus.OUT_OF_MEMORY);
    memory.view(address, 512 * MEBIBYTE).set(ValueLayout.JAVA_BYTE, 512 * MEBIBYTE - 1, (byte) 1);
    memory.free(address);
    assertThat(memory.usedBytes()).isZero();
  }

  @Test
  void allocate_zeroOrNegative_isInvalid() {
    assertStatus(() -> memory.allocate(0, this), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.allocate(-5, this), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.allocate(Long.MAX_VALUE, this), CudaStatus.OUT_OF_MEMORY);
  }

  @Test
  void allocateAt_farFromAllOthers_isUsableAtOnce() {
    long address = AddressPlace.numbered(0).base() + 700 * MEBIBYTE;
    memory.allocateAt(address, 2 * MEBIBYTE, this);

    memory.view(address, 2 * MEBIBYTE).fill((byte) 7);
    assertThat(memory.map().isLive(address, 2 * MEBIBYTE)).isTrue();
    assertThat(memory.find(address + 5).map(Allocation::address)).hasValue(address);
    assertThat(memory.allocationsOf(this)).hasSize(1);
    long low = memory.allocate(510 * MEBIBYTE, this);
    memory.view(low, 510 * MEBIBYTE).set(ValueLayout.JAVA_BYTE, 510 * MEBIBYTE - 1, (byte) 1);
    assertStatus(() -> memory.allocate(1, this), CudaStatus.OUT_OF_MEMORY);
    memory.free(address);
    assertThat(memory.map().isLive(address, 1)).isFalse();
    assertThat(memory.usedBytes()).isEqualTo(510 * MEBIBYTE);
  }

  @Test
  void allocateAt_freedAddress_isTheSameMemoryAgain() {
    memory.allocate(4096, this);
    long address = memory.allocate(4096, this);
    memory.retire(address);

    assertStatus(() -> memory.allocateAt(address, 4096, this), CudaStatus.INVALID_VALUE);
    memory.free(address);
    memory.allocateAt(address, 4096, this);
    assertThat(memory.find(address).map(Allocation::sizeBytes)).hasValue(4096L);
  }

  @Test
  void allocateAt_takenUnalignedOrOutside_isInvalid() {
    long address = memory.allocate(4096, this);

    assertStatus(() -> memory.allocateAt(address, 1, this), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.allocateAt(address + 4096 + 256, 1, this), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.allocateAt(address - 4096, 1, this), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.allocateAt(0, 1, this), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.allocateAt(address + 4096, 0, this), CudaStatus.INVALID_VALUE);
    assertStatus(
        () -> memory.allocateAt(address + 4096, Long.MIN_VALUE, this), CudaStatus.INVALID_VALUE);
    assertStatus(
        () -> memory.allocateAt(address + 4096, 512 * MEBIBYTE, this), CudaStatus.OUT_OF_MEMORY);
    assertStatus(
        () -> memory.allocateAt(memory.virtual().reserve(2 * MEBIBYTE, 0), 1, this),
        CudaStatus.INVALID_VALUE);
  }

  @Test
  void freeRange_untilItIsTaken_isTheSameAndNoneOfAllocate() {
    AddressRange range = memory.freeRange(16 * MEBIBYTE).orElseThrow();
    long low = memory.allocate(500 * MEBIBYTE, this);

    assertThat(range.lengthBytes()).isEqualTo(16 * MEBIBYTE);
    assertThat(memory.freeRange(16 * MEBIBYTE)).hasValue(range);
    memory.allocateAt(range.address(), 4096, this);
    memory.allocateAt(range.address() + 4096, 8192, this);
    memory.view(range.address() + 4096, 8192).fill((byte) 1);

    assertThat(memory.usedBytes()).isEqualTo(500 * MEBIBYTE + 12288);
    assertThat(memory.find(range.address() + 12287).map(Allocation::sizeBytes)).hasValue(8192L);
    assertThat(memory.allocationsOf(this)).hasSize(3);
    assertThat(memory.describe(range.address() + 12288)).contains("0 bytes behind");
    assertThat(memory.freeRange(MEBIBYTE))
        .hasValue(new AddressRange(range.address() + 12288, MEBIBYTE));
    memory.free(range.address());
    assertThat(memory.freeRange(4000)).hasValue(new AddressRange(range.address(), 4096));
    memory.free(range.address() + 4096);
    memory.free(low);
    assertThat(memory.usedBytes()).isZero();
    assertThat(memory.freeRange(Long.MAX_VALUE)).isEmpty();
    assertThat(memory.freeRange(1L << 40))
        .hasValue(new AddressRange(range.address(), 512 * MEBIBYTE));
  }

  @Test
  void view_anyByteOutside_isInvalid() {
    long address = memory.allocate(1000, this);

    memory.view(address + 999, 1);
    assertStatus(() -> memory.view(address, 1001), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.view(address + 999, 2), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.view(address - 1, 1), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.view(address, Long.MAX_VALUE), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.view(0, 1), CudaStatus.INVALID_VALUE);
    assertStatus(() -> memory.view(address, -1), CudaStatus.INVALID_VALUE);
  }

  @Test
  void free_notAnAllocationStart_isInvalid() {
    long address = memory.allocate(4096, this);

    assertStatus(() -> memory.free(address + 512), CudaStatus.INVALID_VALUE);
    memory.free(address);
    assertStatus(() -> memory.free(address), CudaStatus.INVALID_VALUE);
  }

  @Test
  void free_manyMebibytesTouched_givesThemBackToTheSystem() throws IOException {
    long before = residentBytes();
    long address = memory.allocate(256 * MEBIBYTE, this);
    memory.view(address, 256 * MEBIBYTE).fill((byte) 1);
    long touched = residentBytes();
    memory.free(address);

    assertThat(touched - before).isGreaterThan(200 * MEBIBYTE);
    assertThat(touched - residentBytes()).isGreaterThan(200 * MEBIBYTE);
  }

  @Test
  void use_afterClose_isRefused() {
    memory.close();

    assertStatus(() -> memory.allocate(1, this), CudaStatus.DEINITIALIZED);
    assertStatus(() -> memory.view(AddressPlace.numbered(0).base(), 1), CudaStatus.DEINITIALIZED);
  }

  private static long residentBytes() throws IOException {
    return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * 4096;
  }

  private static void assertStatus(ThrowingCallable call, CudaStatus status) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(GpuException.class, e -> assertThat(e.status()).isEqualTo(status));
  }
}
