// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.gpupool.soft.GpuException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Damaged images are refused with a CUDA error, and never take much memory to find out. */
final class DeviceImageFuzzTest {
  private static final int CASES = 3000;

  /** For images of some kilobytes, whatever they claim to unpack to. */
  private static final long MAX_ALLOCATED_BYTES = 64 << 20;

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @Test
  void parse_randomBytes_givesACudaError() {
    Random random = new Random(1);
    int[] magics = {Fatbin.MAGIC, Cubin.MAGIC, 0x7265762e, 0};
    for (int round = 0; round < CASES; round++) {
      byte[] bytes = new byte[4 + random.nextInt(2000)];
      random.nextBytes(bytes);
      int magic = magics[round % magics.length];
      for (int index = 0; index < 4; index++) {
        bytes[index] = (byte) (magic >>> 8 * index);
      }
      parse(bytes);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sample.ptx",
        "sample.cubin",
        "plain.fatbin",
        "lz4.fatbin",
        "zstd.fatbin",
        "zstd-all.fatbin"
      })
  void parse_mutatedImage_parsesOrGivesACudaError(String file) {
    byte[] original = SampleImages.bytes(file);
    Random random = new Random(file.hashCode());
    int refused = 0;
    for (int round = 0; round < CASES; round++) {
      byte[] bytes = mutate(original, random);
      refused += parse(bytes) ? 0 : 1;
    }
    assertThat(refused).isBetween(1, CASES - 1);
  }

  private static byte[] mutate(byte[] original, Random random) {
    int length = random.nextInt(8) == 0 ? 1 + random.nextInt(original.length) : original.length;
    byte[] bytes = new byte[length];
    System.arraycopy(original, 0, bytes, 0, length);
    int changes = 1 + random.nextInt(8);
    for (int change = 0; change < changes; change++) {
      // Most of what matters lies at the start and the end, where the tables are.
      int range = random.nextBoolean() ? Math.min(length, 256) : length;
      int at = random.nextBoolean() ? random.nextInt(range) : length - 1 - random.nextInt(range);
      bytes[at] =
          switch (random.nextInt(4)) {
            case 0 -> 0;
            case 1 -> (byte) 0xff;
            case 2 -> (byte) (bytes[at] ^ 1 << random.nextInt(8));
            default -> (byte) random.nextInt();
          };
    }
    return bytes;
  }

  private boolean parse(byte[] bytes) {
    long before = threads.getCurrentThreadAllocatedBytes();
    boolean parsed = true;
    try {
      DeviceImage.parse(MemorySegment.ofArray(bytes), 90);
    } catch (GpuException e) {
      parsed = false;
      assertThat(e.getMessage()).isNotBlank();
    }
    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(MAX_ALLOCATED_BYTES);
    return parsed;
  }
}
