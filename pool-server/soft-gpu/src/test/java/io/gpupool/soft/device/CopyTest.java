// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static io.gpupool.soft.device.TestGpu.readBytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.work.Completion;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class CopyTest {
  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final SoftStream stream = context.createStream(0, 0);

  @AfterEach
  void close() {
    gpu.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 17, 4096, 1 << 20, (9 << 20) + 3})
  void bytes_writtenCopiedAndRead_areTheSame(int length) throws InterruptedException {
    byte[] bytes = random(length);
    long one = context.allocate(length);
    long other = context.allocate(length);

    stream.write(one, MemorySegment.ofArray(bytes));
    stream.copy(other, one, length);

    assertThat(readBytes(stream, other, length)).isEqualTo(bytes);
  }

  @Test
  void write_streamBusy_takesTheBytesAsTheyWere() throws InterruptedException {
    byte[] bytes = random(300_000);
    byte[] original = bytes.clone();
    long address = context.allocate(bytes.length);
    Gate gate = new Gate();
    stream.callHost(gate, false);

    Completion completion = stream.write(address, MemorySegment.ofArray(bytes));
    Arrays.fill(bytes, (byte) 0);
    assertThat(completion.isDone()).isFalse();
    gate.open();

    assertThat(readBytes(stream, address, original.length)).isEqualTo(original);
  }

  @Test
  void smallOperations_streamIdle_areDoneOnReturn() {
    long address = context.allocate(4096);

    assertThat(stream.write(address, MemorySegment.ofArray(random(4096))).isDone()).isTrue();
    assertThat(stream.fill(address, 0, 7, 4, 1024, 1).isDone()).isTrue();
    assertThat(stream.copy(address + 2048, address, 2048).isDone()).isTrue();
    assertThat(stream.read(address, 4096, bytes -> {}).isDone()).isTrue();
  }

  @Test
  void copy_betweenDevices_works() throws InterruptedException {
    SoftContext other = new SoftContext(gpu.device(1), 0);
    byte[] bytes = random(5000);
    long here = context.allocate(bytes.length);
    long there = other.allocate(bytes.length);
    stream.write(here, MemorySegment.ofArray(bytes));

    stream.copy(there, here, bytes.length).await();

    assertThat(readBytes(other.legacyStream(), there, bytes.length)).isEqualTo(bytes);
  }

  @ParameterizedTest
  @CsvSource({
    "1, 171",
    "1, -1",
    "2, 4660",
    "2, 43947",
    "2, 257",
    "4, 305419896",
    "4, 0",
    "4, 16843009"
  })
  void fill_rows_setsTheRowsAndNothingBetween(int elementBytes, int value)
      throws InterruptedException {
    int width = 333;
    int height = 5;
    int pitch = 2048;
    long address = context.allocate((long) pitch * height);
    byte[] expected = random(pitch * height);
    stream.write(address, MemorySegment.ofArray(expected));
    ByteBuffer model = ByteBuffer.wrap(expected).order(ByteOrder.LITTLE_ENDIAN);
    for (int row = 0; row < height; row++) {
      for (int column = 0; column < width; column++) {
        int at = row * pitch + column * elementBytes;
        switch (elementBytes) {
          case 1 -> model.put(at, (byte) value);
          case 2 -> model.putShort(at, (short) value);
          default -> model.putInt(at, value);
        }
      }
    }

    stream.fill(address, pitch, value, elementBytes, width, height);

    assertThat(readBytes(stream, address, expected.length)).isEqualTo(expected);
  }

  @Test
  void fill_manyMebibytes_reachesTheEnd() throws InterruptedException {
    int length = 20 << 20;
    long address = context.allocate(length);

    stream.fill(address, 0, 0x01020304, 4, length / 4, 1);

    assertThat(readBytes(stream, address + length - 8, 8)).containsExactly(4, 3, 2, 1, 4, 3, 2, 1);
  }

  @Test
  void operations_outsideAllocations_areInvalidAndChangeNothing() throws InterruptedException {
    long address = context.allocate(1000);
    stream.fill(address, 0, 5, 1, 1000, 1);
    MemorySegment bytes = MemorySegment.ofArray(new byte[16]);

    assertStatus(() -> stream.write(address + 990, bytes), CudaStatus.INVALID_VALUE);
    assertStatus(() -> stream.write(0, bytes), CudaStatus.INVALID_VALUE);
    assertStatus(() -> stream.write(0x7fff_0000_0000L, bytes), CudaStatus.INVALID_VALUE);
    assertStatus(() -> stream.read(address - 1, 2, ignored -> {}), CudaStatus.INVALID_VALUE);
    assertStatus(() -> stream.copy(address, address + 600, 500), CudaStatus.INVALID_VALUE);
    assertStatus(() -> stream.fill(address, 0, 1, 4, 251, 1), CudaStatus.INVALID_VALUE);
    assertStatus(() -> stream.fill(address + 2, 0, 1, 4, 1, 1), CudaStatus.INVALID_VALUE);
    assertStatus(() -> stream.fill(address, 8, 1, 4, 3, 2), CudaStatus.INVALID_VALUE);
    assertStatus(() -> stream.fill(address, 1L << 40, 1, 1, 1, 1L << 40), CudaStatus.INVALID_VALUE);

    byte[] expected = new byte[1000];
    Arrays.fill(expected, (byte) 5);
    assertThat(readBytes(stream, address, 1000)).isEqualTo(expected);
  }

  @Test
  void operations_ofNothing_succeedWhateverTheAddress() {
    assertThat(stream.write(1, MemorySegment.ofArray(new byte[0])).isDone()).isTrue();
    assertThat(stream.copy(1, 2, 0).isDone()).isTrue();
    assertThat(stream.fill(4, 0, 0, 4, 0, 1).isDone()).isTrue();
  }

  private static byte[] random(int length) {
    byte[] bytes = new byte[length];
    new Random(length).nextBytes(bytes);
    return bytes;
  }
}
