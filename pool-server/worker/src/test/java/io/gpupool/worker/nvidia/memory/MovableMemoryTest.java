// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.MemoryRange;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class MovableMemoryTest {
  private static final long BLOCK = MovableMemory.BLOCK_BYTES;
  private static final long CONTEXT = 7;
  private static final int OUT_OF_MEMORY = 2;

  /** What a driver has mapped, which must be unmapped as it was mapped. */
  private static final class Mapped implements BlockMapper {
    final TreeMap<Long, Long> mapped = new TreeMap<>();
    long roomBytes = Long.MAX_VALUE;

    @Override
    public int map(long address, long lengthBytes) {
      assertThat(lengthBytes % BLOCK).isZero();
      assertThat(address % BLOCK).isZero();
      assertThat(mapped.subMap(address, address + lengthBytes)).isEmpty();
      if (lengthBytes > roomBytes) {
        return OUT_OF_MEMORY;
      }
      roomBytes -= lengthBytes;
      mapped.put(address, lengthBytes);
      return 0;
    }

    @Override
    public void unmap(long address, long lengthBytes) {
      assertThat(mapped.remove(address, lengthBytes)).isTrue();
      roomBytes += lengthBytes;
    }

    long bytes() {
      return mapped.values().stream().mapToLong(Long::longValue).sum();
    }
  }

  private static final VariableReader NO_VARIABLES =
      new VariableReader() {
        @Override
        public Optional<Extent> find(long module, String name) {
          return Optional.empty();
        }

        @Override
        public OptionalLong print(long address, long lengthBytes) {
          return OptionalLong.empty();
        }
      };

  private final Mapped mapped = new Mapped();
  private final MovableMemory memory = new MovableMemory(0, mapped, NO_VARIABLES);

  /** Held as long as its address is in use: memory of an automatic arena goes with it. */
  private final MemorySegment result = Arena.ofAuto().allocate(8, 8);

  private final long out = result.address();

  private long allocate(long lengthBytes) {
    assertThat(memory.allocate(out, lengthBytes, CONTEXT)).isZero();
    return Memory.getLong(out);
  }

  @Test
  void allocations_small_shareABlockWhichGoesWithTheLast() {
    long first = allocate(1);
    long second = allocate(1 << 20);
    assertThat(first).isEqualTo(MovableMemory.BASE);
    assertThat(second).isEqualTo(first + 512);
    assertThat(mapped.bytes()).isEqualTo(BLOCK);
    memory.free(first);
    assertThat(allocate(512)).as("the first place that is free").isEqualTo(first);
    memory.free(first);
    memory.free(second);
    assertThat(mapped.bytes()).isZero();
    assertThat(memory.ranges()).isEmpty();
  }

  @Test
  void allocations_large_haveBlocksOfTheirOwn() {
    long small = allocate(100);
    long large = allocate(BLOCK + 1);
    assertThat(large % BLOCK).isZero();
    assertThat(mapped.bytes()).isEqualTo(3 * BLOCK);
    assertThat(memory.ranges())
        .containsExactly(
            new MemoryRange(small, BLOCK, true), new MemoryRange(large, 2 * BLOCK, true));
    memory.free(large);
    assertThat(mapped.bytes()).isEqualTo(BLOCK);
  }

  @Test
  void allocation_thatTheCardHasNoRoomFor_leavesNothing() {
    mapped.roomBytes = 2 * BLOCK;
    assertThat(memory.allocate(out, 3 * BLOCK, CONTEXT)).isEqualTo(OUT_OF_MEMORY);
    assertThat(memory.allocate(out, MovableMemory.SPACE_BYTES, CONTEXT)).isEqualTo(OUT_OF_MEMORY);
    assertThat(memory.allocate(out, Long.MAX_VALUE, CONTEXT)).isEqualTo(OUT_OF_MEMORY);
    assertThat(mapped.bytes()).isZero();
    assertThat(allocate(2 * BLOCK)).isEqualTo(MovableMemory.BASE);
  }

  @Test
  void context_thatEnds_takesItsMemoryWithIt() {
    long kept = allocate(3 * BLOCK);
    assertThat(memory.allocate(out, BLOCK, CONTEXT + 1)).isZero();
    assertThat(memory.allocate(out, 10, CONTEXT + 1)).isZero();
    memory.contextEnded(CONTEXT + 1);
    assertThat(memory.ranges()).containsExactly(new MemoryRange(kept, 3 * BLOCK, true));
    assertThat(memory.owner(kept)).hasValue(CONTEXT);
  }

  /** Makes the same allocations again, in the order in which they were made, at their addresses. */
  @Test
  void allocations_madeAgainAsPlanned_lieWhereTheyWere() {
    Random random = new Random(4);
    TreeMap<Integer, long[]> made = new TreeMap<>();
    for (int i = 0; i < 2000; i++) {
      if (random.nextInt(3) == 0 && !made.isEmpty()) {
        memory.free(made.pollFirstEntry().getValue()[0]);
      }
      long lengthBytes =
          random.nextInt(4) == 0 ? random.nextLong(1, 9 * BLOCK) : random.nextInt(1, 99_999);
      memory.beginNoting();
      long address = allocate(lengthBytes);
      assertThat(memory.noted()).containsExactly(address);
      made.put(random.nextInt(), new long[] {address, lengthBytes, i});
    }
    Mapped there = new Mapped();
    MovableMemory again = new MovableMemory(0, there, NO_VARIABLES);
    again.setRestoring(true);
    // Whatever has come before, part of which is gone.
    assertThat(again.stage(MovableMemory.BASE + BLOCK / 2, 5 * BLOCK)).isZero();
    assertThat(again.stage(MovableMemory.BASE + 9000 * BLOCK, 10)).isZero();
    made.values().stream()
        .sorted((one, other) -> Long.compare(one[2], other[2]))
        .forEach(one -> {
          again.plan(new long[] {one[0]});
          assertThat(again.allocate(out, one[1], CONTEXT)).isZero();
          assertThat(Memory.getLong(out)).isEqualTo(one[0]);
          assertThat(again.isPlanUsedUp()).isTrue();
        });
    again.setRestoring(false);
    assertThat(again.ranges()).containsExactlyInAnyOrderElementsOf(memory.ranges());
    assertThat(there.bytes()).isEqualTo(mapped.bytes());
    assertThat(again.stagedBytes()).isZero();
    made.values().forEach(one -> again.free(one[0]));
    assertThat(there.bytes()).isZero();
  }

  @Test
  void allocation_plannedWhereAnotherIs_isRefused() {
    long taken = allocate(5000);
    for (long address : new long[] {taken, taken + 512, taken + BLOCK - 512, taken - 512}) {
      memory.plan(new long[] {address});
      assertThat(memory.allocate(out, 1000, CONTEXT)).isEqualTo(OUT_OF_MEMORY);
    }
    memory.plan(new long[] {taken + 5120});
    assertThat(memory.allocate(out, 1000, CONTEXT)).isZero();
  }

  @Test
  void stage_outsideOfAllocations_isRefused() {
    for (long address : new long[] {0, MovableMemory.BASE - 1, -BLOCK}) {
      assertThat(memory.stage(address, BLOCK)).isEqualTo(1);
    }
    long half = MovableMemory.BASE + MovableMemory.SPACE_BYTES / 2;
    assertThat(memory.stage(half - BLOCK, BLOCK + 1)).isEqualTo(1);
    assertThat(memory.stage(half - BLOCK, Long.MAX_VALUE)).isEqualTo(1);
    assertThat(mapped.bytes()).isZero();
  }

  @Test
  void reservations_ofTheProgram_lieApartAndCanBeHadAgain() {
    memory.beginNoting();
    long first = memory.reserve(3 * BLOCK, 0).orElseThrow();
    assertThat(memory.noted()).containsExactly(first);
    long second = memory.reserve(BLOCK, 1 << 30).orElseThrow();
    assertThat(second % (1 << 30)).isZero();
    assertThat(first).isGreaterThanOrEqualTo(MovableMemory.BASE + MovableMemory.SPACE_BYTES / 2);
    memory.mapped(first + BLOCK, BLOCK);
    assertThat(memory.ranges()).as("nobody may read it yet").isEmpty();
    assertThat(memory.fixed()).isEmpty();
    memory.accessSet(first, 3 * BLOCK, 1);
    assertThat(memory.fixed()).isPresent();
    memory.accessSet(first, 3 * BLOCK, 3);
    assertThat(memory.ranges()).containsExactly(new MemoryRange(first + BLOCK, BLOCK, false));
    assertThat(memory.freeReserved(first, 3 * BLOCK)).as("it is mapped").isFalse();
    memory.unmapped(first + BLOCK, BLOCK);
    assertThat(memory.freeReserved(first, 3 * BLOCK)).isTrue();
    assertThat(memory.reserveAt(second, BLOCK)).isFalse();
    assertThat(memory.reserveAt(first + BLOCK, BLOCK)).isTrue();
  }
}
