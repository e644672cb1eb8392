// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Texture and surface references on the test driver, which refuses all values but the expected. */
class ReferencesTest extends SessionOnTestDriver {
  private static final int MODULE = 16;
  private static final int ARRAY = 50;
  private static final int FLOAT = 0x20;
  private static final int NOT_FOUND = 500;
  private static final int NOTHING = -1;
  private static final int LINEAR = 2;
  private static final int PITCHED = 3;

  @BeforeEach
  void loadModule() {
    assertThat(session.load("testcuda\nkernel fill 8 4 4\n").result()).isZero();
    assertThat(session.call(Ops.arrayCreate, ARRAY, 16, 8, 0, FLOAT, 1, 2).result()).isZero();
  }

  @Test
  void properties_eachByItself_reachTheDriver() {
    long plane = find("plane", 0);
    ByteBuffer texture = ByteBuffer.allocate(104).order(ByteOrder.LITTLE_ENDIAN);
    texture.putInt(4, 3).putInt(12, 1).putInt(16, 2).putInt(20, 8).putInt(24, 1);
    texture.putFloat(28, 0.5f).putFloat(32, 1.5f).putFloat(36, 2.5f);
    texture.putFloat(40, 1).putFloat(44, 2).putFloat(48, 3).putFloat(52, 4);

    for (int property : new int[] {1, 3, 5, 6, 7, 8, 9, 10, 11}) {
      set(plane, property, new byte[0], texture.array());
      assertThat(outcome()).as("property %d", property).isZero();
    }
    // Another dimension's mode, and none of the properties.
    set(plane, 2, new byte[0], texture.array());
    assertThat(outcome()).isEqualTo(CudaResult.INVALID_VALUE);
    set(plane, 12, new byte[0], texture.array());
    assertThat(outcome()).isEqualTo(CudaResult.INVALID_VALUE);
  }

  @Test
  void resources_ofEachKind_reachTheDriver() {
    long plane = find("plane", 0);
    byte[] texture = new byte[104];
    set(plane, 0, resource(0, ARRAY, 0, 0, 0), texture);
    assertThat(outcome()).isZero();
    long memory = session.allocate(5 * 64);
    set(plane, 0, resource(LINEAR, memory, 64, 0, 0), texture);
    assertThat(outcome()).isZero();
    set(plane, 0, resource(PITCHED, memory, 7, 5, 64), texture);
    assertThat(outcome()).isZero();
    set(plane, 0, resource(NOTHING, 0, 0, 0, 0), texture);
    assertThat(outcome()).isZero();
    set(plane, 0, resource(0, ARRAY + 1, 0, 0, 0), texture);
    assertThat(outcome()).isEqualTo(CudaResult.INVALID_HANDLE);
  }

  @Test
  void surface_takesAnArray() {
    long canvas = find("canvas", 1);
    session.post(Ops.surfaceReferenceSet, canvas, ARRAY);
    assertThat(outcome()).isZero();
    session.post(Ops.surfaceReferenceSet, canvas, ARRAY + 1);
    assertThat(outcome()).isEqualTo(CudaResult.INVALID_VALUE);
    set(canvas, 1, new byte[0], new byte[104]);
    assertThat(outcome()).isEqualTo(CudaResult.INVALID_VALUE);
  }

  @Test
  void reference_thatIsNone_neverReachesTheDriver() {
    assertThat(session.call(Ops.referenceFind, MODULE, "circle", 0, 1).result())
        .isEqualTo(NOT_FOUND);
    long plane = find("plane", 0);
    set(plane + 1, 6, new byte[0], new byte[104]);
    assertThat(outcome()).isEqualTo(CudaResult.INVALID_VALUE);

    session.post(Ops.moduleUnload, MODULE);
    set(plane, 6, new byte[0], new byte[104]);
    assertThat(outcome()).isEqualTo(CudaResult.INVALID_VALUE);
  }

  @Test
  void numbers_areOfTheModuleAndTheOrderOfAsking() {
    long plane = find("plane", 0);
    long canvas = find("canvas", 1);
    assertThat(plane).isEqualTo(((long) MODULE << 32) + 1);
    assertThat(canvas).isEqualTo(plane + 1);
    assertThat(find("plane", 0)).as("asked for again").isEqualTo(plane);
  }

  private long find(String name, int surface) {
    Answer found = session.call(Ops.referenceFind, MODULE, name, surface, 1);
    assertThat(found.result()).isZero();
    return found.u64(0);
  }

  private void set(long reference, int property, byte[] resource, byte[] texture) {
    session.post(Ops.referenceSet, reference, property, FLOAT, 2, resource, texture);
  }

  /** What has become of the posted calls so far. */
  private int outcome() {
    return session.call(Ops.ctxSynchronize).result();
  }

  private static byte[] resource(
      int type, long handle, long lengthOrWidth, long height, long pitch) {
    return ByteBuffer.allocate(144)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(0, type)
        .putLong(8, handle)
        .putInt(16, FLOAT)
        .putInt(20, 2)
        .putLong(24, lengthOrWidth)
        .putLong(32, height)
        .putLong(40, pitch)
        .array();
  }
}
