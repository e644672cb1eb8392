// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class HeapTest {
  private static final long START = 0x1000_0000L;
  private static final long SIZE = 1 << 20;
  private static final int GRANULE = 512;

  private final Heap heap = new Heap(START, SIZE, GRANULE);

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void heap_randomAllocationsAndFrees_agreesWithModel(long seed) {
    Random random = new Random(seed);
    TreeMap<Long, Long> model = new TreeMap<>();
    for (int step = 0; step < 20_000; step++) {
      if (random.nextInt(10) == 0) {
        long bytes = 1 + random.nextLong(64 * GRANULE);
        long address = START + random.nextLong(SIZE / GRANULE) * GRANULE;
        boolean free = isFree(model, address, occupied(bytes));
        assertThat(heap.allocateAt(address, bytes, this)).isEqualTo(free);
        if (free) {
          model.put(address, bytes);
        }
      } else if (model.isEmpty() || random.nextInt(100) < 55) {
        long bytes = 1 + (long) Math.pow(2, random.nextDouble() * 16);
        OptionalLong place = heap.allocate(bytes, this);
        if (place.isPresent()) {
          long address = place.getAsLong();
          assertThat(address % GRANULE).isZero();
          assertThat(address).isBetween(START, START + SIZE - occupied(bytes));
          assertNoOverlap(model, address, occupied(bytes));
          model.put(address, bytes);
        } else {
          assertThat(largestGap(model)).isLessThan(occupied(bytes));
        }
      } else {
        List<Long> addresses = new ArrayList<>(model.keySet());
        long address = addresses.get(random.nextInt(addresses.size()));
        assertThat(heap.free(address)).isEqualTo(occupied(requireNonNull(model.remove(address))));
      }
      long probe = START + random.nextLong(SIZE);
      assertThat(heap.find(probe).map(Allocation::address))
          .isEqualTo(modelFind(model, probe).map(Map.Entry::getKey));
    }
    long used = model.values().stream().mapToLong(HeapTest::occupied).sum();
    assertThat(heap.usedBytes()).isEqualTo(used);
    assertThat(heap.largestFreeBytes()).isEqualTo(largestGap(model));
    model.keySet().forEach(heap::free);
    assertThat(heap.largestFreeBytes()).isEqualTo(SIZE);
  }

  @Test
  void allocate_severalHolesFit_takesTheSmallest() {
    long large = heap.allocate(64 * GRANULE, this).orElseThrow();
    heap.allocate(1, this);
    long small = heap.allocate(8 * GRANULE, this).orElseThrow();
    heap.allocate(1, this);
    heap.free(large);
    heap.free(small);

    assertThat(heap.allocate(5 * GRANULE, this)).hasValue(small);
  }

  @Test
  void free_unknownOrInnerAddress_freesNothing() {
    long address = heap.allocate(4096, this).orElseThrow();

    assertThat(heap.free(address + GRANULE)).isZero();
    assertThat(heap.free(START + SIZE)).isZero();
    assertThat(heap.usedBytes()).isEqualTo(4096);
  }

  @Test
  void allocate_absurdSize_isRefused() {
    assertThat(heap.allocate(0, this)).isEmpty();
    assertThat(heap.allocate(-1, this)).isEmpty();
    assertThat(heap.allocate(Long.MAX_VALUE, this)).isEmpty();
    assertThat(heap.allocate(SIZE + 1, this)).isEmpty();
    assertThat(heap.allocate(SIZE, this)).hasValue(START);
  }

  @Test
  void allocateAt_freePlace_isTakenAndLeavesBothSides() {
    assertThat(heap.allocateAt(START + 8 * GRANULE, 3 * GRANULE - 1, this)).isTrue();

    assertThat(heap.find(START + 10 * GRANULE).map(Allocation::address))
        .hasValue(START + 8 * GRANULE);
    assertThat(heap.allocate(8 * GRANULE, this)).hasValue(START);
    assertThat(heap.allocate(1, this)).hasValue(START + 11 * GRANULE);
    assertThat(heap.free(START + 8 * GRANULE)).isEqualTo(3 * GRANULE);
  }

  @Test
  void allocateAt_unalignedOutsideOrTaken_isRefused() {
    heap.allocateAt(START + 4 * GRANULE, GRANULE, this);

    assertThat(heap.allocateAt(START + 1, GRANULE, this)).isFalse();
    assertThat(heap.allocateAt(START - GRANULE, GRANULE, this)).isFalse();
    assertThat(heap.allocateAt(START + SIZE, GRANULE, this)).isFalse();
    assertThat(heap.allocateAt(START + 4 * GRANULE, 1, this)).isFalse();
    assertThat(heap.allocateAt(START + 3 * GRANULE, GRANULE + 1, this)).isFalse();
    assertThat(heap.allocateAt(START + SIZE - GRANULE, GRANULE + 1, this)).isFalse();
    assertThat(heap.allocateAt(START, 0, this)).isFalse();
    assertThat(heap.allocateAt(START, -1, this)).isFalse();
    assertThat(heap.allocateAt(START, Long.MAX_VALUE, this)).isFalse();
    assertThat(heap.usedBytes()).isEqualTo(GRANULE);
  }

  @Test
  void retire_allocation_isFoundNoMoreButStillOccupied() {
    long address = heap.allocate(4096, this).orElseThrow();

    assertThat(heap.retire(address)).isTrue();

    assertThat(heap.find(address)).isEmpty();
    assertThat(heap.allocationsOf(this)).isEmpty();
    assertThat(heap.retire(address)).isFalse();
    assertThat(heap.usedBytes()).isEqualTo(4096);
    assertThat(heap.free(address)).isEqualTo(4096);
  }

  private static long occupied(long bytes) {
    return (bytes + GRANULE - 1) / GRANULE * GRANULE;
  }

  private static void assertNoOverlap(TreeMap<Long, Long> model, long address, long size) {
    Map.Entry<Long, Long> below = model.lowerEntry(address + size);
    if (below != null) {
      assertThat(below.getKey() + occupied(below.getValue())).isLessThanOrEqualTo(address);
    }
  }

  private static boolean isFree(TreeMap<Long, Long> model, long address, long size) {
    Map.Entry<Long, Long> below = model.lowerEntry(address + size);
    return address + size <= START + SIZE
        && (below == null || below.getKey() + occupied(below.getValue()) <= address);
  }

  private static long largestGap(TreeMap<Long, Long> model) {
    long largest = 0;
    long end = START;
    for (Map.Entry<Long, Long> entry : model.entrySet()) {
      largest = Math.max(largest, entry.getKey() - end);
      end = entry.getKey() + occupied(entry.getValue());
    }
    return Math.max(largest, START + SIZE - end);
  }

  private static Optional<Map.Entry<Long, Long>> modelFind(
      TreeMap<Long, Long> model, long address) {
    Map.Entry<Long, Long> entry = model.floorEntry(address);
    return entry != null && address < entry.getKey() + entry.getValue()
        ? Optional.of(entry)
        : Optional.empty();
  }
}
