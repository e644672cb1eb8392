// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Arrays, boxes and texture objects on the test driver. */
class CudaArraysTest extends SessionOnTestDriver {
  private static final int ARRAY = 50;
  private static final int OTHER = 51;
  private static final int MIPMAP = 60;
  private static final int FLOAT = 0x20;
  private static final int COPY = 700;

  @Test
  void boxes_throughArrays_comeBackAsTheyWere() {
    byte[] bytes = new byte[64 * 10 * 3];
    new Random(1).nextBytes(bytes);
    assertThat(create(ARRAY, 16, 10, 3)).isZero();
    assertThat(create(OTHER, 20, 12, 4)).isZero();

    session.post(Ops.write3D, ARRAY, 0, 0, 0, 0, 0, 0, 64, 10, 3, 0, bytes);
    session.post(Ops.copy3D, OTHER, 0, 8, 1, 1, 0, 0, ARRAY, 0, 0, 0, 0, 0, 0, 64, 10, 3, 0);

    assertThat(read(OTHER, 8, 1, 1, 64, 10, 3)).isEqualTo(bytes);
    byte[] window = new byte[8 * 2];
    for (int row = 0; row < 2; row++) {
      System.arraycopy(bytes, (2 * 10 + 4 + row) * 64 + 12, window, row * 8, 8);
    }
    assertThat(read(ARRAY, 12, 4, 2, 8, 2, 1)).isEqualTo(window);
  }

  @Test
  void read3D_ofMemoryLongerThanAFrame_comesInPiecesInOrder() {
    long pitch = 1 << 20;
    long address = session.allocate(3 * pitch);
    byte[] row = new byte[1 << 20];
    new Random(2).nextBytes(row);
    for (int i = 0; i < 3; i++) {
      session.post(Ops.memcpyHtoD, address + i * pitch, 0, row);
    }
    int width = (1 << 20) - 8;
    session.post(Ops.read3D, COPY, 0, address + 8, 0, 0, 0, pitch, 3, width, 3, 1, 0);
    byte[] read = answer();
    assertThat(read).hasSize(3 * width);
    for (int i = 0; i < 3; i++) {
      for (int at = 0; at < width; at += 4093) {
        assertThat(read[i * width + at]).isEqualTo(row[at + 8]);
      }
    }
  }

  @Test
  void boxes_notWithinTheirArray_areErrors() {
    assertThat(create(ARRAY, 16, 10, 3)).isZero();
    session.post(Ops.write3D, ARRAY, 0, 8, 0, 0, 0, 0, 64, 1, 1, 0, new byte[64]);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_VALUE);
    session.post(Ops.write3D, ARRAY, 0, -8, 0, 0, 0, 0, 8, 1, 1, 0, new byte[8]);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_VALUE);
    session.post(Ops.write3D, OTHER, 0, 0, 0, 0, 0, 0, 8, 1, 1, 0, new byte[8]);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_HANDLE);
  }

  @Test
  void arrays_countAgainstTheQuota_untilDestroyed() {
    assertThat(create(ARRAY, 1024, 1024, 0)).isZero();
    assertThat(session.ledger.sessionBytes(0)).isEqualTo(4 << 20);
    assertThat(create(OTHER, 1 << 17, 1 << 16, 0)).isEqualTo(CudaResult.OUT_OF_MEMORY);
    assertThat(session.ledger.sessionBytes(0)).isEqualTo(4 << 20);

    session.post(Ops.arrayDestroy, ARRAY);

    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    assertThat(session.ledger.sessionBytes(0)).isZero();
    session.post(Ops.arrayDestroy, ARRAY);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_HANDLE);
  }

  @Test
  void levels_goDownWithTheirMipmappedArray() {
    assertThat(session.call(Ops.mipmapCreate, MIPMAP, 64, 64, 0, FLOAT, 1, 0, 4).result()).isZero();
    long counted = session.ledger.sessionBytes(0);
    assertThat(counted).isGreaterThanOrEqualTo((64 * 64 + 32 * 32 + 16 * 16 + 8 * 8) * 4L);
    session.post(Ops.mipmapGetLevel, MIPMAP, 2, ARRAY);
    byte[] bytes = new byte[64 * 16];
    new Random(3).nextBytes(bytes);
    session.post(Ops.write3D, ARRAY, 0, 0, 0, 0, 0, 0, 64, 16, 1, 0, bytes);
    assertThat(read(ARRAY, 0, 0, 0, 64, 16, 1)).isEqualTo(bytes);

    session.post(Ops.mipmapDestroy, MIPMAP);

    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    assertThat(session.ledger.sessionBytes(0)).isZero();
    session.post(Ops.write3D, ARRAY, 0, 0, 0, 0, 0, 0, 64, 16, 1, 0, bytes);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_HANDLE);
  }

  @Test
  void textures_ofArrays_areMadeOfTheBackendsHandles() {
    assertThat(create(ARRAY, 16, 16, 0)).isZero();
    byte[] texture = new byte[104];
    Answer made = session.call(Ops.textureCreate, resource(ARRAY), texture, new byte[112], 1);
    assertThat(made.result()).isZero();
    session.post(Ops.textureDestroy, made.u64(0));
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    session.post(Ops.textureDestroy, made.u64(0));
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_VALUE);

    Answer surface = session.call(Ops.surfaceCreate, resource(ARRAY), 1);
    assertThat(surface.result()).isZero();
    session.post(Ops.surfaceDestroy, surface.u64(0));
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();

    assertThat(session.call(Ops.surfaceCreate, resource(OTHER), 1).result())
        .isEqualTo(CudaResult.INVALID_HANDLE);
    assertThat(session.call(Ops.surfaceCreate, new byte[8], 1).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
  }

  private static byte[] resource(int array) {
    return ByteBuffer.allocate(144)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(0)
        .putLong(array)
        .array();
  }

  private int create(int array, int width, int height, int depth) {
    return session.call(Ops.arrayCreate, array, width, height, depth, FLOAT, 1, 0).result();
  }

  private byte[] read(int array, int x, int y, int z, int width, int height, int depth) {
    session.post(Ops.read3D, COPY, array, 0, x, y, z, 0, 0, width, height, depth, 0);
    return answer();
  }

  /** The bytes of the copy up to its reply. */
  private byte[] answer() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    int fence = session.ask(Ops.ctxSynchronize);
    while (true) {
      Answer answer = session.read();
      if (answer.tag() == fence) {
        assertThat(answer.result()).isZero();
        return bytes.toByteArray();
      }
      assertThat(answer.tag()).isEqualTo(COPY);
      if (answer.kind() == AnswerKind.DATA) {
        assertThat(answer.u64(0)).isEqualTo(bytes.size());
        bytes.writeBytes(answer.data());
      } else {
        assertThat(answer.result()).isZero();
      }
    }
  }
}
