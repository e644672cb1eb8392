// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Ops;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Modules that a session loads on the test driver, with their globals and functions. */
@Timeout(60)
class ModulesTest extends SessionOnTestDriver {
  private static final String IMAGE =
      "testcuda\nkernel fill 8 4 4\nkernel add 8 8 8 4\nglobal table 64\n";
  private static final int FILL = 20;

  private void bindFill() {
    assertThat(session.load(IMAGE).result()).isZero();
    session.post(Ops.moduleBindFunction, 16, FILL, "fill");
  }

  @Test
  void moduleLoad_imageThatTheDriverAloneReads_tellsLogsAndNoFunctions() {
    Answer answer = session.load(IMAGE);

    assertThat(new String(answer.variable(0), StandardCharsets.UTF_8)).isEqualTo("loaded");
    assertThat(answer.variable(16)).isEmpty();
    assertThat(answer.variable(24)).isEmpty();
  }

  @Test
  void moduleListFunctions_imageThatTheDriverAloneReads_tellsNamesAndParameters() {
    session.load(IMAGE);

    byte[] list = session.call(Ops.moduleListFunctions, 16, 0, 4096).variable(0);
    ByteBuffer table = ByteBuffer.wrap(list).order(ByteOrder.LITTLE_ENDIAN);
    assertThat(table.getLong())
        .isEqualTo(IMAGE.lines().filter(l -> l.startsWith("kernel")).count());
    assertThat(table.getInt()).isEqualTo(4);
    assertThat(table.getInt()).isEqualTo(3);
    byte[] name = new byte[8];
    table.get(name);
    assertThat(new String(name, StandardCharsets.UTF_8).trim()).isEqualTo("fill");
    int[] parameters = new int[6];
    for (int i = 0; i < 6; i++) {
      parameters[i] = table.getInt();
    }
    assertThat(parameters).containsExactly(0, 8, 8, 4, 12, 4);
  }

  @Test
  void moduleLoad_badImage_returnsTheErrorLog() {
    Answer answer = session.load("no image at all");

    assertThat(answer.result()).isEqualTo(200);
    assertThat(new String(answer.variable(8), StandardCharsets.UTF_8))
        .isEqualTo("not an image of the test driver");
  }

  @Test
  void moduleLoad_incompleteImage_isRefused() {
    session.post(Ops.imageBegin, 5, 100);
    session.post(Ops.imageData, 5, "testcuda\n");

    assertThat(session.call(Ops.moduleLoad, 16, 5, new byte[0], 0, 0, 0).result()).isEqualTo(200);
  }

  @Test
  void globals_andFunctionAttributes_areAnswered() {
    bindFill();
    Answer global = session.call(Ops.moduleGetGlobal, 16, "table", 1, 1);
    assertThat(global.u64(8)).isEqualTo(64);
    session.post(Ops.memcpyHtoD, global.u64(0), 0, new byte[64]);
    Answer onlyLength = session.call(Ops.moduleGetGlobal, 16, "table", 0, 1);
    assertThat(onlyLength.payload()).hasSize(8);
    assertThat(onlyLength.u64(0)).isEqualTo(64);

    byte[] attributes = session.call(Ops.functionGetAttributes, FILL, 5 * 8).variable(0);
    assertThat(attributes).hasSize(5 * 8);
    assertThat(ByteBuffer.wrap(attributes).order(ByteOrder.LITTLE_ENDIAN).getInt(4 * 8 + 4))
        .isEqualTo(1004);
    assertThat(session.call(Ops.functionGetAttributes, FILL, -9).payload()).isEmpty();
    assertThat(session.call(Ops.moduleGetFunction, 16, 99, "add", 256).variable(0)).hasSize(32);
    assertThat(session.call(Ops.moduleGetFunction, 16, 98, "none", 256).result()).isEqualTo(500);
  }

  @Test
  void functionBlocks_withAndWithoutAFunction_isAnswered() {
    bindFill();

    assertThat(session.call(Ops.functionBlocks, FILL, 256, 0, 0, 1).i32(0)).isEqualTo(8);
    assertThat(session.call(Ops.functionBlocks, 12345, 256, 0, 0, 1).result()).isEqualTo(400);
  }

  @Test
  void entryPoint_thatTheDriverLacks_answersNotSupported() {
    bindFill();

    assertThat(session.call(Ops.cuOccupancyAvailableDynamicSMemPerBlock, 1, FILL, 1, 32).result())
        .isEqualTo(801);
  }
}
