// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.Ops;
import io.gpupool.worker.os.Memory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Drivers before 12.4 do not tell the parameters of functions: the image does. */
@Timeout(60)
class OldDriverTest {
  private static final String PTX =
      """
      .version 7.0
      .target sm_75
      .address_size 64
      .visible .entry scale(.param .u32 n, .param .u64 p, .param .f32 f) {
        ret;
      }
      """;

  private TestSession session;

  @BeforeEach
  void start() {
    session = new TestSession(new OldDriver());
    session.retainContext();
  }

  @AfterEach
  void stop() {
    session.close();
  }

  private static int[] ints(byte[] bytes, int from) {
    ByteBuffer words = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).position(from);
    int[] ints = new int[words.remaining() / 4];
    words.asIntBuffer().get(ints);
    return ints;
  }

  @Test
  void moduleLoad_listsTheFunctionsOfTheImage() {
    byte[] table = session.load(PTX).variable(16);

    assertThat(ints(table, 0)).startsWith(5, 3);
    assertThat(ints(table, 16)).containsExactly(0, 4, 8, 8, 16, 4);
  }

  @Test
  void getFunction_answersFromTheImage() {
    session.load(PTX);

    Answer known = session.call(Ops.moduleGetFunction, 16, 20, "scale", 256);
    assertThat(ints(known.variable(0), 0)).containsExactly(0, 4, 8, 8, 16, 4);
    Answer unknown = session.call(Ops.moduleGetFunction, 16, 21, "other", 256);
    assertThat(unknown.result()).isEqualTo(801);
  }

  @Test
  void moduleLoad_imageThatTellsNothing_listsNothing() {
    Answer answer = session.load("what a driver may understand");

    assertThat(answer.result()).isZero();
    assertThat(answer.variable(16)).isEmpty();
  }

  /** Loads anything and finds any function. */
  private static final class OldDriver implements Backend {
    @Override
    public int cuInit(int flags) {
      return 0;
    }

    @Override
    public int cuDriverGetVersion(long version) {
      Memory.putInt(version, 12020);
      return 0;
    }

    @Override
    public int cuDeviceGet(long device, int ordinal) {
      return 0;
    }

    @Override
    public int cuDeviceGetName(long name, int len, int dev) {
      return 0;
    }

    @Override
    public int cuDeviceGetAttribute(long value, int attribute, int dev) {
      Memory.putInt(value, attribute == 75 ? 8 : 6);
      return 0;
    }

    @Override
    public int cuDevicePrimaryCtxRetain(long context, int dev) {
      Memory.putLong(context, 1);
      return 0;
    }

    @Override
    public int cuModuleLoadDataEx(
        long module, long image, int numOptions, long options, long optionValues) {
      Memory.putLong(module, 2);
      return 0;
    }

    @Override
    public int cuModuleGetFunction(long function, long module, long name) {
      Memory.putLong(function, 3);
      return 0;
    }
  }
}
