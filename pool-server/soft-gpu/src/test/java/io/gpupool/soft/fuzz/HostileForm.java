// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.instruction.InstructionForm;
import io.gpupool.soft.ptx.instruction.InstructionForm.Group;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Writes a kernel whose instruction of some form takes its address and sizes from hostile numbers:
 * the registers {@code %x} and {@code %z}, and constants.
 */
final class HostileForm {
  /** What touches memory at an address that it is given. */
  static final Set<String> OPCODES =
      Set.of(
          "ld",
          "ldu",
          "st",
          "atom",
          "red",
          "mbarrier",
          "cp",
          "ldmatrix",
          "stmatrix",
          "wmma",
          "suld",
          "sust",
          "sured",
          "suq",
          "tex",
          "tld4",
          "txq",
          "prefetch",
          "prefetchu",
          "discard",
          "applypriority");

  private static final List<String> OFFSETS =
      List.of(
          "",
          "",
          "",
          "+8",
          "-8",
          "+512",
          "-65536",
          "+65536",
          "+2147483648",
          "+4294967296",
          "-4611686018427387904",
          "+9223372036854775807",
          "-9223372036854775808");

  private final InstructionForm form;
  private final Random random;
  private final List<String> modifiers = new ArrayList<>();

  HostileForm(InstructionForm form, Random random) {
    this.form = form;
    this.random = random;
    for (Group group : form.groups()) {
      if (!group.optional() || random.nextInt(3) > 0 && !group.alternatives().contains("L2::64B")) {
        modifiers.add(pick(group.alternatives()));
      }
    }
  }

  private <T> T pick(List<T> some) {
    return some.get(random.nextInt(some.size()));
  }

  private boolean has(String modifier) {
    return modifiers.contains(modifier);
  }

  String name() {
    return String.join(".", form.opcode(), String.join(".", modifiers));
  }

  private Type type() {
    return modifiers.stream()
        .flatMap(name -> Type.named(name).stream())
        .reduce((_, last) -> last)
        .orElse(Type.B32);
  }

  private static String register(Type type) {
    return switch (type) {
      case F32 -> "%f";
      case F64 -> "%d";
      case B128 -> "%q";
      default -> type.bits() == 64 ? "%v" : type.bits() == 32 ? "%r" : "%h";
    };
  }

  private String elements() {
    int count = has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
    return count == 1 ? register(type()) + 0 : registers(register(type()), count);
  }

  private static String registers(String kind, int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> kind + i)
        .collect(Collectors.joining(", ", "{", "}"));
  }

  private String address() {
    if (has("param") && random.nextBoolean()) {
      return "[b" + pick(OFFSETS) + "]";
    }
    return "[%x" + pick(OFFSETS) + "]";
  }

  /** One of two places, the hostile one or a good one. */
  private String place(String good) {
    return random.nextBoolean() ? address() : good;
  }

  /** The kernel, which stores what it has read at {@code out}. */
  String kernel() {
    StringBuilder text =
        new StringBuilder(
            """
            .version 8.6
            .target sm_90
            .address_size 64
            .visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b) {
              .reg .b64 %o, %g, %x, %z, %s64, %t64, %v<8>;
              .reg .b32 %t, %m, %n, %s, %sb, %r<8>;
              .reg .b16 %h<8>;
              .reg .f32 %f<8>;
              .reg .f64 %d<8>;
              .reg .b128 %q0, %q1;
              .reg .pred %p;
              .shared .align 128 .b8 area[1000];
              .shared .align 8 .b64 barrier;
              .local .align 16 .b8 own[56];
              ld.param.u64 %o, [out];
              ld.param.u64 %x, [a];
              ld.param.u64 %z, [b];
              mov.u64 %g, %o;
              cvt.u32.u64 %n, %z;
              mov.u32 %t, %tid.x;
              mov.u32 %s, area;
              mov.u32 %sb, barrier;
              mbarrier.init.shared.b64 [%sb], 1000;
              cvt.u16.u64 %h0, %z;
              st.local.u64 [own], %z;
            """);
    if (random.nextInt(3) == 0) {
      // Some lanes leave the address behind in an exchange of the warp, and end.
      text.append("  match.any.sync.b64 %m, %x, 0xffffffff;\n");
      text.append("  setp.lt.u32 %p, %t, ").append(pick(List.of(1, 8, 31))).append(";\n");
      text.append("  @%p ret;\n");
    }
    if (random.nextBoolean()) {
      int step = pick(List.of(1, 2, 4, 8, 16, 32, 512, -8, -512, 65536));
      text.append("  mul.wide.s32 %t64, %t, ").append(step).append(";\n");
      text.append("  add.s64 %x, %x, %t64;\n");
    }
    text.append("  ").append(statement()).append("\n");
    for (int i = 0; i < 8; i++) {
      text.append("  st.global.u64 [%%g+%d], %%v%d;\n".formatted(512 + 8 * i, i));
      text.append("  st.global.u32 [%%g+%d], %%r%d;\n".formatted(576 + 4 * i, i));
      text.append("  st.global.f32 [%%g+%d], %%f%d;\n".formatted(608 + 4 * i, i));
      text.append("  st.global.f64 [%%g+%d], %%d%d;\n".formatted(640 + 8 * i, i));
      text.append("  st.global.u16 [%%g+%d], %%h%d;\n".formatted(704 + 2 * i, i));
    }
    // What a copy has brought to shared memory.
    text.append("  ld.shared.u64 %v0, [area];\n  st.global.u64 [%g+720], %v0;\n  ret;\n}\n");
    return text.toString();
  }

  private String statement() {
    String name = name() + " ";
    return name
        + switch (form.opcode()) {
          case "ld", "ldu" -> elements() + ", " + address() + ";";
          case "st" -> address() + ", " + elements() + completion();
          case "atom" -> elements() + ", " + address() + ", " + elements() + third() + ";";
          case "red" -> address() + ", " + elements() + completion();
          case "mbarrier" -> barrier();
          case "cp" -> copy();
          case "ldmatrix" -> registers("%r", rows()) + ", " + address() + ";";
          case "stmatrix" -> address() + ", " + registers("%r", rows()) + ";";
          case "wmma" ->
              has("store")
                  ? address() + ", " + registers(register(fragment()), 8) + ", %n;"
                  : registers(register(fragment()), 8) + ", " + address() + ", %n;";
          case "suld" -> elements() + ", [%x, " + coordinates("%n") + "];";
          case "sust", "sured" -> "[%x, " + coordinates("%n") + "], " + elements() + ";";
          case "tex" ->
              registers(register(type(0)), has("v2") ? 2 : 4)
                  + ", [%x, "
                  + coordinates(type() == Type.F32 ? "%f0" : "%n")
                  + "]"
                  + (has("level") ? ", " + (type() == Type.F32 ? "%f0" : "%n") : "")
                  + (has("grad") ? ", {%f0, %f0, %f0, %f0}, {%f0, %f0, %f0, %f0}" : "")
                  + ";";
          case "tld4" -> registers("%r", 4) + ", [%x, " + coordinates("%f0") + "];";
          case "txq" -> "%r0, [%x]" + (has("level") ? ", %n;" : ";");
          case "suq" -> "%r0, [%x];";
          case "applypriority", "discard" -> address() + ", 128;";
          default -> address() + ";";
        };
  }

  /** The barrier at which a store or an operation ends that does not wait. */
  private String completion() {
    return has("async") ? ", " + place("[%sb]") + ";" : ";";
  }

  /** The blocks of the cluster that a copy goes to. */
  private String targets() {
    return has("multicast::cluster") ? ", %h0;" : ";";
  }

  private String third() {
    return has("cas") ? ", " + elements() : "";
  }

  private int rows() {
    return has("x4") ? 4 : has("x2") ? 2 : 1;
  }

  private Type type(int index) {
    return modifiers.stream()
        .flatMap(name -> Type.named(name).stream())
        .skip(index)
        .findFirst()
        .orElse(Type.B32);
  }

  private Type fragment() {
    return has("f64") ? Type.F64 : has("f32") ? Type.F32 : Type.B32;
  }

  private String coordinates(String coordinate) {
    int count = has("1d") ? 1 : has("2d") || has("a1d") ? 2 : 4;
    return "{" + String.join(", ", Collections.nCopies(count, coordinate)) + "}";
  }

  private String barrier() {
    String place = address();
    return switch (modifiers.getFirst()) {
      case "init" -> place + ", %n;";
      case "inval" -> place + ";";
      case "expect_tx", "complete_tx" -> place + ", %n;";
      case "arrive", "arrive_drop" ->
          "%v0, " + place + (has("expect_tx") || has("noComplete") ? ", %n;" : ";");
      case "test_wait", "try_wait" -> "%p, " + place + (has("parity") ? ", %n;" : ", %z;");
      default -> "%r0, %z;";
    };
  }

  private String copy() {
    if (has("mbarrier")) {
      return address() + ";";
    }
    if (has("commit_group") || has("wait_all")) {
      return ";";
    }
    if (has("wait_group")) {
      return "0;";
    }
    if (!has("bulk")) {
      return place("[%s]") + ", " + place("[%o]") + ", 16;";
    }
    if (has("prefetch")) {
      return has("tensor") ? "[%x, " + box() + "];" : address() + ", %n;";
    }
    if (has("tensor")) {
      return has("mbarrier::complete_tx::bytes")
          ? place("[%s]") + ", [%x, " + box() + "], " + place("[%sb]") + targets()
          : "[%x, " + box() + "], " + place("[%s]") + ";";
    }
    String size = pick(List.of("%n", "16", "64", "1008"));
    boolean toGlobal = modifiers.indexOf("global") < modifiers.indexOf("shared::cta");
    if (has("mbarrier::complete_tx::bytes")) {
      String from = has("global") ? "[%o]" : "[%s]";
      return place("[%s]") + ", " + place(from) + ", " + size + ", " + place("[%sb]") + targets();
    }
    return toGlobal
        ? place("[%o]") + ", " + place("[%s]") + ", " + size + ";"
        : place("[%s]") + ", " + place("[%o]") + ", " + size + ";";
  }

  private String box() {
    for (int rank = 1; rank <= 5; rank++) {
      if (has(rank + "d")) {
        return registers("%r", rank);
      }
    }
    return "{%r0}";
  }
}
