// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.instruction.InstructionForm;
import io.gpupool.soft.ptx.instruction.InstructionForms;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/**
 * One block writes vectors all of whose bytes are alike, another one reads them meanwhile: no read
 * may see parts of two writes. Tries every form of vector access that is one access; writes and
 * reads of the same length are paired at random. {@code -Dgpupool.fuzz.torn=N} writes more often,
 * {@code -Dgpupool.fuzz.seed=N} pairs otherwise.
 */
@Timeout(600)
class VectorTearTest {
  private static final int WRITES = Integer.getInteger("gpupool.fuzz.torn", 4_000);
  private static final long SEED = Long.getLong("gpupool.fuzz.seed", 1);

  /**
   * A vector access.
   *
   * @param name with all modifiers
   */
  private record Access(String name, Type type, int count, boolean ordered) {
    int bytes() {
      return type.bytes() * count;
    }

    /** Longer ones are one access only where the instruction orders them. */
    boolean isOne() {
      return bytes() <= (ordered ? 16 : 8);
    }

    String kind() {
      return switch (type) {
        case F32 -> "f";
        case F64 -> "d";
        default -> type.bits() == 64 ? "x" : type.bits() == 32 ? "r" : "h";
      };
    }

    /** Registers, of which each is the first one in a store. */
    String registers(boolean store) {
      return IntStream.range(0, count)
          .mapToObj(i -> "%" + kind() + (store ? 0 : i))
          .collect(Collectors.joining(", ", "{", "}"));
    }
  }

  private static List<Access> accesses(String opcode) {
    Map<String, Access> accesses = new LinkedHashMap<>();
    for (InstructionForm form : InstructionForms.all()) {
      if (form.opcode().equals(opcode) && form.status() == InstructionForm.Status.EXECUTED) {
        expand(form, 0, opcode, accesses);
      }
    }
    return accesses.values().stream().filter(Access::isOne).toList();
  }

  /** Every combination of the modifiers that count here. */
  private static void expand(
      InstructionForm form, int index, String name, Map<String, Access> accesses) {
    if (index == form.groups().size()) {
      List<String> parts = List.of(name.split("\\."));
      int count = parts.contains("v2") ? 2 : parts.contains("v4") ? 4 : 1;
      Type type = Type.named(parts.getLast()).orElseThrow();
      boolean ordered =
          Stream.of("volatile", "relaxed", "acquire", "release").anyMatch(parts::contains);
      if (count > 1) {
        accesses.putIfAbsent(name, new Access(name, type, count, ordered));
      }
      return;
    }
    InstructionForm.Group group = form.groups().get(index);
    if (group.optional() && !group.alternatives().contains("v2")) {
      boolean space = group.alternatives().contains("global");
      expand(form, index + 1, space ? name + ".global" : name, accesses);
      return;
    }
    for (String alternative : group.alternatives()) {
      boolean scope = group.alternatives().contains("cluster");
      if (!scope || alternative.equals("gpu")) {
        expand(form, index + 1, name + "." + alternative, accesses);
      }
    }
  }

  @TestFactory
  Stream<DynamicTest> vector_writtenAndReadAtOnce_isNeverTorn() {
    Random random = new Random(SEED);
    List<Access> stores = new ArrayList<>(accesses("st"));
    List<Access> loads = accesses("ld");
    assertThat(stores).hasSizeGreaterThan(60);
    assertThat(loads).hasSizeGreaterThan(60);
    return loads.stream()
        .sorted(Comparator.comparing(Access::name))
        .map(load -> {
          List<Access> fitting =
              stores.stream()
                  .filter(store -> store.bytes() == load.bytes())
                  .filter(store -> store.ordered == load.ordered || load.bytes() <= 8)
                  .toList();
          Access store = fitting.get(random.nextInt(fitting.size()));
          return DynamicTest.dynamicTest(
              load.name + " beside " + store.name, () -> tryOut(store, load));
        });
  }

  private static void tryOut(Access store, Access load) throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(kernel(store, load), 1 << 20)) {
      MemorySegment place = gpu.allocate(64);
      MemorySegment result = gpu.allocate(64);

      gpu.run("k", TestGpu.blocks(2, 1), place, result, WRITES);

      assertThat(result.get(ValueLayout.JAVA_INT, 4)).as("writes").isEqualTo(1);
      assertThat(result.get(ValueLayout.JAVA_INT, 8)).as("reads").isPositive();
      assertThat(result.get(ValueLayout.JAVA_INT, 0)).as("torn reads").isZero();
    }
  }

  /** Block 0 writes, all bytes of a vector being the turn's number; block 1 reads until it ends. */
  private static String kernel(Access store, Access load) {
    return """
    .version 8.3
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 place, .param .u64 result, .param .u32 writes) {
      .reg .b64 %p, %q, %x<4>, %all, %one;
      .reg .b32 %r<4>, %i, %n, %b, %torn, %turns, %done;
      .reg .b16 %h<4>;
      .reg .f32 %f<4>;
      .reg .f64 %d<4>;
      .reg .pred %c;
      ld.param.u64 %p, [place];
      ld.param.u64 %q, [result];
      ld.param.u32 %n, [writes];
      cvta.to.global.u64 %p, %p;
      cvta.to.global.u64 %q, %q;
      mov.u32 %b, %ctaid.x;
      setp.ne.u32 %c, %b, 0;
      mov.u32 %i, 0;
      mov.u32 %torn, 0;
      mov.u32 %turns, 0;
      @%c bra READ;
    WRITE:
      and.b32 %b, %i, 255;
      mul.lo.u32 %r0, %b, 0x01010101;
      cvt.u16.u32 %h0, %r0;
      mov.b32 %f0, %r0;
      mov.b64 %x0, {%r0, %r0};
      mov.b64 %d0, %x0;
    """
        + "  "
        + store.name
        + " [%p], "
        + store.registers(true)
        + ";\n"
        + """
          add.u32 %i, %i, 1;
          setp.lt.u32 %c, %i, %n;
          @%c bra WRITE;
          st.release.gpu.global.u32 [%q+4], 1;
          ret;
        READ:
        """
        + "  "
        + load.name
        + " "
        + load.registers(false)
        + ", [%p];\n"
        + gathered(load)
        + """
          cvt.u32.u64 %b, %all;
          and.b32 %b, %b, 255;
          cvt.u64.u32 %one, %b;
          mul.lo.u64 %one, %one, 0x0101010101010101;
          setp.ne.u64 %c, %one, %all;
          @%c add.u32 %torn, %torn, 1;
          add.u32 %turns, %turns, 1;
          ld.acquire.gpu.global.u32 %done, [%q+4];
          setp.eq.u32 %c, %done, 0;
          @%c bra READ;
          st.global.u32 [%q], %torn;
          st.global.u32 [%q+8], %turns;
          ret;
        }
        """;
  }

  /** Makes one number of all elements, which is one byte over and over if none differs. */
  private static String gathered(Access load) {
    StringBuilder text = new StringBuilder();
    String kind = load.kind();
    for (int i = 0; i < load.count; i++) {
      String wide =
          switch (kind) {
            case "f" -> "  mov.b32 %%r%1$d, %%f%1$d;\n  mov.b64 %%x%1$d, {%%r%1$d, %%r%1$d};\n";
            case "d" -> "  mov.b64 %%x%1$d, %%d%1$d;\n";
            case "r" -> "  mov.b64 %%x%1$d, {%%r%1$d, %%r%1$d};\n";
            case "h" ->
                load.type.bits() == 16
                    ? "  mov.b64 %%x%1$d, {%%h%1$d, %%h%1$d, %%h%1$d, %%h%1$d};\n"
                    : "  cvt.u64.u16 %%x%1$d, %%h%1$d;\n  and.b64 %%x%1$d, %%x%1$d, 255;\n"
                        + "  mul.lo.u64 %%x%1$d, %%x%1$d, 0x0101010101010101;\n";
            default -> "";
          };
      text.append(wide.formatted(i));
    }
    text.append("  mov.b64 %all, %x0;\n");
    for (int i = 1; i < load.count; i++) {
      // What differs spoils all of it.
      text.append("  setp.ne.u64 %%c, %%x0, %%x%d;\n  @%%c mov.u64 %%all, 0x100;\n".formatted(i));
    }
    return text.toString();
  }
}
