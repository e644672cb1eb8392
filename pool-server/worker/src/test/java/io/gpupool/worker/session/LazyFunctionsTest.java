// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.WireStruct;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A driver loads the code of the functions that somebody uses, and no other. */
@Timeout(60)
class LazyFunctionsTest extends SessionOnTestDriver {
  private static final int MODULE = 16;
  private static final int FUNCTIONS = 500;

  @Test
  void launch_ofThreeFunctionsThatTheDriverAloneKnows_loadsThree() {
    long before = loadedFunctions();
    load(image("testcuda\n", "kernel sleep%d 8\n"));

    for (int i = 0; i < 3; i++) {
      assertThat(session.call(Ops.moduleGetFunction, MODULE, 20 + i, "sleep" + 7 * i, 256).result())
          .isZero();
      launch(20 + i, 0L);
    }
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    assertThat(loadedFunctions() - before).isEqualTo(3);
  }

  @Test
  void load_ofAnImageThatTellsItsFunctions_listsThemAndLoadsNone() throws Exception {
    long before = loadedFunctions();
    byte[] list = load(image(PTX, ".visible .entry f%d()\n{\nret;\n}\n"));

    assertThat(entries(unpacked(list), 0)).isEqualTo(FUNCTIONS);
    assertThat(loadedFunctions() - before).isZero();

    session.post(Ops.moduleBindFunction, MODULE, 20, "f499");
    launch(20);
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    assertThat(loadedFunctions() - before).isEqualTo(1);
  }

  @Test
  void list_ofMoreFunctionsThanComeWithTheModule_isCompleteInParts() {
    int many = 1500;
    byte[] withModule = load(image(PTX, ".visible .entry f%d()\n{\nret;\n}\n", many));
    assertThat(withModule).isEmpty();

    int first = 0;
    int parts = 0;
    while (first < many) {
      byte[] part = session.call(Ops.moduleListFunctions, MODULE, first, 8192).variable(0);
      assertThat(ByteBuffer.wrap(part).order(ByteOrder.LITTLE_ENDIAN).getLong()).isEqualTo(many);
      assertThat(entries(part, Long.BYTES)).isPositive();
      first += entries(part, Long.BYTES);
      parts++;
    }
    assertThat(first).isEqualTo(many);
    assertThat(parts).isGreaterThan(1);
  }

  @Test
  void list_ofAModuleThatIsNotThere_isRefused() {
    assertThat(session.call(Ops.moduleListFunctions, 99, 0, 8192).result())
        .isEqualTo(CudaResult.INVALID_HANDLE);
    load(image(PTX, ".visible .entry f%d()\n{\nret;\n}\n"));
    assertThat(session.call(Ops.moduleListFunctions, MODULE, -1, 8192).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(session.call(Ops.moduleListFunctions, MODULE, FUNCTIONS, 8192).variable(0))
        .hasSize(Long.BYTES);
  }

  private static final String PTX =
      """
      .version 7.0
      .target sm_75
      .address_size 64
      """;

  private static String image(String head, String function) {
    return image(head, function, FUNCTIONS);
  }

  private static String image(String head, String function, int count) {
    StringBuilder image = new StringBuilder(head);
    for (int i = 0; i < count; i++) {
      image.append(function.formatted(i));
    }
    return image.toString();
  }

  /** Loads an image, and returns the list of functions that comes with it. */
  private byte[] load(String image) {
    session.post(Ops.imageBegin, 1, image.length());
    session.post(Ops.imageData, 1, image);
    Answer answer = session.call(Ops.moduleLoad, MODULE, 1, new byte[0], 0, 0, 1 << 20);
    assertThat(answer.result()).isZero();
    return answer.variable(0);
  }

  private void launch(int function, Object... parameters) {
    session.send(Request.simpleLaunch(Ops.launch, TestSession.CONTEXT, function, 0, parameters));
  }

  private static byte[] unpacked(byte[] list) throws DataFormatException {
    ByteBuffer header = ByteBuffer.wrap(list).order(ByteOrder.LITTLE_ENDIAN);
    assertThat(header.getInt()).isEqualTo(-1);
    byte[] unpacked = new byte[header.getInt()];
    Inflater inflater = new Inflater(true);
    inflater.setInput(header);
    assertThat(inflater.inflate(unpacked)).isEqualTo(unpacked.length);
    inflater.end();
    return unpacked;
  }

  private static int entries(byte[] list, int from) {
    ByteBuffer entries = ByteBuffer.wrap(list).order(ByteOrder.LITTLE_ENDIAN).position(from);
    int count = 0;
    while (entries.hasRemaining()) {
      int nameBytes = entries.getInt();
      int parameters = entries.getInt();
      entries.position(entries.position() + WireStruct.padded(nameBytes) + 8 * parameters);
      count++;
    }
    return count;
  }

  private static long loadedFunctions() {
    try (Arena arena = Arena.ofConfined()) {
      return (long)
          Linker.nativeLinker()
              .downcallHandle(
                  SymbolLookup.libraryLookup(TestDriver.library(), arena)
                      .findOrThrow("testcudaLoadedFunctions"),
                  FunctionDescriptor.of(ValueLayout.JAVA_LONG))
              .invokeExact();
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }
}
