// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.NvidiaBackend;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.HexFormat;
import java.util.Optional;

/** Memory of NVIDIA's GPUs as a card has it: in blocks, of which the driver takes some itself. */
abstract class NvidiaMemory extends NvidiaBackend {
  /** CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, and _USES_HOST_PAGE_TABLES. */
  private static final int[] PAGEABLE_MEMORY = {88, 100};

  // CUlimit
  private static final int LIMIT_PRINTF_FIFO = 1;
  private static final int LIMIT_MALLOC_HEAP = 2;

  private static final long USUAL_FIFO_BYTES = 1 << 20;
  private static final long USUAL_HEAP_BYTES = 8 << 20;

  /** A driver gives out memory in blocks of so many bytes. */
  private static final long BLOCK_BYTES = 2 << 20;

  private static final int UUID_BYTES = 16;

  private final long contextBytes;
  private final UsedMemory memory;

  NvidiaMemory(String libnvml, long contextBytes) {
    this.contextBytes = contextBytes;
    memory = new UsedMemory(libnvml, this::uuid);
  }

  @Override
  public long contextBytes() {
    return contextBytes;
  }

  @Override
  public boolean isSharedCard() {
    return true;
  }

  @Override
  public long memoryBlockBytes() {
    return BLOCK_BYTES;
  }

  @Override
  public long usedMemoryBytes(int gpu) {
    return memory.bytes(gpu).orElse(NOT_TOLD);
  }

  /**
   * Returns the bytes that limits of the current context take beyond the usual ones, which contexts
   * include.
   */
  @Override
  public long heapBytes() {
    return limitBytes(LIMIT_PRINTF_FIFO, USUAL_FIFO_BYTES)
        + limitBytes(LIMIT_MALLOC_HEAP, USUAL_HEAP_BYTES);
  }

  private long limitBytes(int limit, long usualBytes) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(Long.BYTES, Long.BYTES).address();
      return cuCtxGetLimit(out, limit) == 0 ? Math.max(0, Memory.getLong(out) - usualBytes) : 0;
    }
  }

  private Optional<String> uuid(int gpu) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(UUID_BYTES, Long.BYTES).address();
      return cuDeviceGet(out, gpu) == 0 && cuDeviceGetUuid_v2(out, Memory.getInt(out)) == 0
          ? Optional.of(HexFormat.of().formatHex(Memory.bytes(out, UUID_BYTES)))
          : Optional.empty();
    }
  }

  /**
   * Nothing where a GPU reads pageable memory by itself, through the host's page tables or by
   * faults: the driver then may not have read the source when a copy returns.
   */
  @Override
  public long sourceReadAtOnceBytes() {
    return readsPageableMemory() ? 0 : super.sourceReadAtOnceBytes();
  }

  private boolean readsPageableMemory() {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(8, 8).address();
      int count = cuDeviceGetCount(out) == 0 ? Memory.getInt(out) : 0;
      for (int ordinal = 0; ordinal < count; ordinal++) {
        int device = cuDeviceGet(out, ordinal) == 0 ? Memory.getInt(out) : -1;
        for (int attribute : PAGEABLE_MEMORY) {
          if (cuDeviceGetAttribute(out, attribute, device) == 0 && Memory.getInt(out) != 0) {
            return true;
          }
        }
      }
      return false;
    }
  }
}
