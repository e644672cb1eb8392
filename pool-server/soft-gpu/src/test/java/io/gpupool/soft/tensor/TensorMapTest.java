// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import org.junit.jupiter.api.Test;

class TensorMapTest {
  private static final int U16 = TensorElement.U16.ordinal();
  private static final int F32 = TensorElement.F32.ordinal();

  private static TensorMap.Tiled matrix(int element, long address, long stride, int width, int s) {
    return new TensorMap.Tiled(
        element,
        address,
        new TensorMap.Shape(new long[] {100, 50}, new long[] {stride}),
        new TensorMap.Box(new int[] {width, 8}, new int[] {1, 1}),
        0,
        s,
        0,
        0);
  }

  private static CudaStatus refusal(TensorMap.Tiled tiled) {
    return catchThrowableOfType(GpuException.class, () -> TensorMap.of(tiled)).status();
  }

  @Test
  void map_writtenAndRead_isTheSame() {
    TensorMap.Tiled tiled =
        new TensorMap.Tiled(
            F32,
            0x1_0000,
            new TensorMap.Shape(
                new long[] {1L << 32, 7, 1, 9, 3}, new long[] {(1L << 40) - 16, 16, 32, 0}),
            new TensorMap.Box(new int[] {256, 1, 5, 255, 2}, new int[] {9, 8, 2, 3, 1}),
            0,
            0,
            3,
            1);
    MemorySegment bytes = MemorySegment.ofArray(new byte[TensorMap.BYTES]);
    TensorMap.of(tiled).write(bytes);
    TensorMap map = TensorMap.read(bytes).orElseThrow();

    assertThat(map.rank()).isEqualTo(5);
    assertThat(map.address()).isEqualTo(0x1_0000);
    assertThat(map.fillBits()).isEqualTo(0x7FFF_FFFF);
    assertThat(map.dim(0)).isEqualTo(1L << 32);
    assertThat(map.stride(0)).isEqualTo(4);
    assertThat(map.stride(1)).isEqualTo((1L << 40) - 16);
    assertThat(map.step(0)).as("dimension 0 has no steps").isEqualTo(1);
    assertThat(map.count(0)).isEqualTo(256);
    assertThat(map.count(2)).as("of 5 elements every second").isEqualTo(3);
    assertThat(map.count(3)).isEqualTo(85);
    assertThat(map.rows()).isEqualTo(3L * 85 * 2);
    assertThat(map.at(0x2_0000).address()).isEqualTo(0x2_0000);
  }

  @Test
  void bytes_thatAreNoMap_areNotRead() {
    byte[] good = new byte[TensorMap.BYTES];
    TensorMap.of(matrix(U16, 0x1_0000, 256, 64, 3)).write(MemorySegment.ofArray(good));
    int[] places = {0, 4, 5, 6, 8, 80 - 24, 89, 98};
    for (int place : places) {
      byte[] bad = good.clone();
      bad[place] = (byte) (place == 5 ? 6 : 0x79);

      assertThat(TensorMap.read(MemorySegment.ofArray(bad))).as("byte %d", place).isEmpty();
    }
    assertThat(TensorMap.read(MemorySegment.ofArray(good))).isPresent();
    assertThat(TensorMap.read(MemorySegment.ofArray(new byte[TensorMap.BYTES]))).isEmpty();
  }

  @Test
  void numbers_thatCudaForbids_areInvalid() {
    assertThat(TensorMap.of(matrix(U16, 0x1_0000, 208, 8, 0)).rowBytes()).isEqualTo(16);
    assertThat(refusal(matrix(U16, 0x1_0008, 208, 8, 0))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(matrix(U16, 0, 208, 8, 0))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(matrix(U16, 0x1_0000, 200, 8, 0))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(matrix(U16, 0x1_0000, 1L << 40, 8, 0))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(matrix(U16, 0x1_0000, 208, 4, 0))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(matrix(U16, 0x1_0000, 208, 264, 0))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(matrix(U16, 0x1_0000, 208, 72, 3))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(matrix(U16, 0x1_0000, 208, 40, 2))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(matrix(16, 0x1_0000, 208, 8, 0))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(matrix(U16, 0x1_0000, 208, 8, 7))).isEqualTo(CudaStatus.INVALID_VALUE);
    assertThat(refusal(matrix(13, 0x1_0000, 208, 8, 0))).isEqualTo(CudaStatus.NOT_SUPPORTED);
    assertThat(refusal(matrix(U16, 0x1_0000, 208, 8, 4))).isEqualTo(CudaStatus.NOT_SUPPORTED);
  }

  @Test
  void swizzle_of128Bytes_givesEachOfEightRowsAnotherChunk() {
    for (int column = 0; column < 8; column++) {
      BitSet chunks = new BitSet();
      for (int row = 0; row < 8; row++) {
        long place = Swizzle.SPAN_128.place(row * 128 + column * 16 + 5);
        assertThat(place / 128).isEqualTo(row);
        assertThat(place % 16).isEqualTo(5);
        assertThat(place % 128 / 16).isEqualTo(column ^ row);
        chunks.set((int) (place % 128 / 16));
      }
      assertThat(chunks.cardinality()).isEqualTo(8);
    }
  }

  @Test
  void swizzle_ofShorterSpans_staysWithinThem() {
    for (int at = 0; at < 2048; at += 16) {
      int row = at / 128;
      assertThat(Swizzle.NONE.place(at)).isEqualTo(at);
      assertThat(Swizzle.SPAN_32.place(at)).isEqualTo(at / 32 * 32 + (at % 32 / 16 ^ row % 2) * 16);
      assertThat(Swizzle.SPAN_64.place(at)).isEqualTo(at / 64 * 64 + (at % 64 / 16 ^ row % 4) * 16);
    }
  }

  @Test
  void conversions_toSharedMemory_cutWhatTheTypeHasNot() {
    int tiny = 1;
    int value = Float.floatToRawIntBits(1.0f) | 0x1FFF;
    int half = Float.floatToRawIntBits(1.0f) | 0x1000;
    assertThat(TensorElement.F32.converts()).isFalse();
    assertThat(TensorElement.F32_FTZ.converted(tiny | 1 << 31)).isEqualTo(1 << 31);
    assertThat(TensorElement.F32_FTZ.converted(value)).isEqualTo(value);
    assertThat(TensorElement.TF32.converted(value)).isEqualTo(0x3F80_2000);
    assertThat(TensorElement.TF32.converted(half)).isEqualTo(0x3F80_2000);
    assertThat(TensorElement.TF32.converted(half - 1)).isEqualTo(0x3F80_0000);
    assertThat(TensorElement.TF32.converted(0x7FFF_FFFF)).isEqualTo(0x7FFF_FFFF);
    assertThat(TensorElement.TF32_FTZ.converted(tiny)).isZero();
  }
}
