// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.module;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.compile.KernelCompiler;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.ptx.PtxException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Valid PTX that was damaged at random: it is refused with a place, or it is valid still. */
class GarbageTest {
  private static final int TRIES = 300;
  private static final List<String> TOKENS =
      List.of(
          "{",
          "}",
          "(",
          ")",
          "[",
          "]",
          ";",
          ",",
          ".",
          "::",
          "%r1",
          "%rd1",
          "%p1",
          "%f1",
          "0x",
          "-",
          "add.s32",
          "ld.global",
          ".b128",
          ".pred",
          ".align",
          "<999999999>",
          "[99999999999]",
          "\"",
          "/*",
          "//",
          "@",
          "@!",
          "call",
          "bra",
          "0f",
          "1e999",
          "ret;",
          ".entry",
          ".func",
          ".reg",
          ".shared",
          "_",
          "|",
          "!",
          "generic",
          ".v8",
          "call (%r1), %rd1, (%r2), x;");

  private static String damaged(String text, Random random) {
    StringBuilder damaged = new StringBuilder(text);
    for (int i = 1 + random.nextInt(4); i > 0; i--) {
      int at = random.nextInt(damaged.length());
      int end = Math.min(damaged.length(), at + 1 + random.nextInt(12));
      switch (random.nextInt(6)) {
        case 0 -> damaged.delete(at, end);
        case 1 -> damaged.setCharAt(at, (char) random.nextInt(256));
        case 2 -> damaged.insert(at, TOKENS.get(random.nextInt(TOKENS.size())));
        case 3 -> damaged.insert(at, damaged.substring(at, end));
        case 4 -> damaged.setLength(Math.max(1, at));
        default -> {
          int from = random.nextInt(damaged.length());
          int to = Math.min(damaged.length(), from + 1 + random.nextInt(60));
          damaged.insert(at, damaged.substring(from, to));
        }
      }
    }
    return damaged.toString();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "atomics",
        "control",
        "cooperative",
        "faults",
        "floats",
        "globals",
        "halves",
        "print",
        "recursion",
        "types",
        "vectors",
        "warps"
      })
  void damagedText_isRefusedWithAPlace_orCompiles(String name) {
    String text = TestGpu.resource(name + ".ptx");
    Random random = new Random(name.hashCode());
    int refused = 0;
    for (int i = 0; i < TRIES; i++) {
      String damaged = damaged(text, random);
      try {
        compileFirst(PtxModule.parse(damaged, 90));
      } catch (PtxException e) {
        refused++;
        assertThat(e.line()).as(e.getMessage()).isBetween(1, damaged.split("\n", -1).length + 1);
        assertThat(e.column()).as(e.getMessage()).isPositive();
      } catch (RuntimeException | Error e) {
        throw new AssertionError("try " + i + " of " + name + ":\n" + damaged, e);
      }
    }
    assertThat(refused).isGreaterThan(TRIES / 3);
  }

  private static void compileFirst(PtxModule module) {
    if (module.kernels().isEmpty()) {
      return;
    }
    Map<String, Long> addresses = new HashMap<>();
    module.globals().forEach(global -> addresses.put(global.name(), 1L << 45));
    try {
      KernelCompiler.compile(module, module.kernels().getFirst().name(), addresses);
    } catch (CompileException e) {
      assertThat(e).hasMessageContaining("kernel");
    }
  }
}
