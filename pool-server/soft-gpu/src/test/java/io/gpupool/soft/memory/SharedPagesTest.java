// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.soft.GpuException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Two devices of this process stand for those of two processes. */
class SharedPagesTest {
  private static final long BYTES = (5 << 20) + 1000;

  private final DeviceMemory memory = new DeviceMemory(0, 64 << 20);
  private final DeviceMemory other = new DeviceMemory(1, 64 << 20);

  @AfterEach
  void close() {
    memory.close();
    other.close();
  }

  @Test
  void share_allocationBetweenOthers_isTheSameMemoryElsewhere() {
    long before = allocate(600, 1);
    long shared = allocate(BYTES, 2);
    long behind = allocate(600, 3);

    SharedPiece piece = memory.share(shared + 4096);
    long shown = other.attach(piece);

    assertThat(piece.lengthBytes()).isEqualTo(BYTES);
    assertThat(other.isAttached(shown)).isTrue();
    assertThat(other.view(shown, BYTES).mismatch(memory.view(shared, BYTES))).isEqualTo(-1);
    put(memory, shared + BYTES - 4, 7);
    put(other, shown, 8);
    assertThat(get(other, shown + BYTES - 4)).isEqualTo(7);
    assertThat(get(memory, shared)).isEqualTo(8);
    assertThat(get(memory, before)).isEqualTo(0x01010101);
    assertThat(get(memory, behind + 596)).isEqualTo(0x03030303);
    assertThat(other.map().isLive(shown, BYTES)).isTrue();
    assertThat(other.map().isLive(shown + BYTES + 512, 1)).isFalse();
    assertThat(other.usedBytes()).isZero();
  }

  @Test
  void share_neighboursOfOnePage_eachIsTheSameMemoryElsewhere() {
    long one = allocate(1024, 1);
    long two = allocate(1024, 2);
    long shownOne = other.attach(memory.share(one));
    long shownTwo = other.attach(memory.share(two));

    put(other, shownOne, 11);
    put(other, shownTwo, 12);

    assertThat(get(memory, one)).isEqualTo(11);
    assertThat(get(memory, two)).isEqualTo(12);
    memory.free(one);
    assertThat(get(memory, two)).isEqualTo(12);
    assertThat(get(other, shownTwo)).isEqualTo(12);
  }

  @Test
  void free_sharedAllocation_whatComesThereIsNobodyElses() {
    long shared = allocate(BYTES, 2);
    long shown = other.attach(memory.share(shared));

    memory.free(shared);
    long again = allocate(BYTES, 5);

    assertThat(again).isEqualTo(shared);
    assertThat(get(other, shown + 8192)).isZero();
    assertThat(get(memory, again + 8192)).isEqualTo(0x05050505);
  }

  @Test
  void detach_attached_isNoMemoryAnyMore() {
    long shown = other.attach(memory.share(allocate(BYTES, 2)));

    other.detach(shown);

    assertThat(other.isAttached(shown)).isFalse();
    assertThat(other.map().isLive(shown, 1)).isFalse();
    assertThatThrownBy(() -> other.view(shown, 4)).isInstanceOf(GpuException.class);
    assertThatThrownBy(() -> other.detach(shown)).isInstanceOf(GpuException.class);
  }

  @Test
  void attach_whatIsNoPiece_isRefused() {
    SharedPiece sound = memory.share(allocate(BYTES, 2));

    assertThatThrownBy(() -> other.attach(new SharedPiece(sound.descriptor(), 512, 4096, 0, 4096)))
        .isInstanceOf(GpuException.class);
    assertThatThrownBy(() -> other.attach(new SharedPiece(-1, 0, 4096, 0, 4096)))
        .isInstanceOf(GpuException.class);
    assertThatThrownBy(() -> memory.share(sound.lengthBytes())).isInstanceOf(GpuException.class);
  }

  @Test
  void shareableBlock_openedByItsDescriptor_isTheSameMemory() {
    VirtualSpace space = memory.virtual();
    VirtualSpace otherSpace = other.virtual();
    PhysicalBlock block = memory.createShareableBlock(VirtualSpace.GRANULE_BYTES);
    PhysicalBlock opened = PhysicalBlock.ofFile(SharedFile.duplicate(block.descriptor()));
    long here = space.reserve(block.sizeBytes(), 0);
    long there = otherSpace.reserve(opened.sizeBytes(), 0);
    space.map(here, block.sizeBytes(), 0, block);
    otherSpace.map(there, opened.sizeBytes(), 0, opened);
    space.setAccess(here, block.sizeBytes(), 0, VirtualSpace.READ_WRITE);
    otherSpace.setAccess(there, opened.sizeBytes(), 1, VirtualSpace.READ_WRITE);

    put(memory, here, 21);
    block.release();
    space.unmap(here, block.sizeBytes());

    assertThat(get(other, there)).isEqualTo(21);
    assertThat(memory.usedBytes()).isZero();
    assertThat(other.usedBytes()).isZero();
    assertThat(memory.createBlock(VirtualSpace.GRANULE_BYTES).isShareable()).isFalse();
  }

  private long allocate(long bytes, int value) {
    long address = memory.allocate(bytes, this);
    memory.view(address, bytes).fill((byte) value);
    return address;
  }

  private static void put(DeviceMemory memory, long address, int value) {
    memory.view(address, 4).set(JAVA_INT, 0, value);
  }

  private static int get(DeviceMemory memory, long address) {
    return memory.view(address, 4).get(JAVA_INT, 0);
  }
}
