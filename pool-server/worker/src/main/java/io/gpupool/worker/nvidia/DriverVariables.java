// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.worker.nvidia.memory.Extent;
import io.gpupool.worker.nvidia.memory.VariableReader;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.zip.CRC32C;

/** The variables of modules, as their driver tells of them. Guarded by the lock of the memory. */
final class DriverVariables implements VariableReader {
  private static final int PIECE_BYTES = 1 << 20;

  private final NvidiaMovable driver;
  private final StagingArea area;

  DriverVariables(NvidiaMovable driver, int gpu) {
    this.driver = driver;
    area = new StagingArea(driver, gpu, PIECE_BYTES);
    driver.opened(area);
  }

  @Override
  public Optional<Extent> find(long module, String name) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(2 * Long.BYTES, Long.BYTES).address();
      int result =
          driver.cuModuleGetGlobal_v2(
              out, out + Long.BYTES, module, arena.allocateFrom(name).address());
      return result == 0 && Memory.getLong(out + Long.BYTES) > 0
          ? Optional.of(new Extent(Memory.getLong(out), Memory.getLong(out + Long.BYTES)))
          : Optional.empty();
    }
  }

  @Override
  public OptionalLong print(long address, long lengthBytes) {
    CRC32C sum = new CRC32C();
    for (long at = 0; at < lengthBytes; at += PIECE_BYTES) {
      long piece = Math.min(PIECE_BYTES, lengthBytes - at);
      if (area.read(address + at, piece) != 0) {
        return OptionalLong.empty();
      }
      sum.update(MemorySegment.ofAddress(area.address()).reinterpret(piece).asByteBuffer());
    }
    return OptionalLong.of(sum.getValue());
  }
}
