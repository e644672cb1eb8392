// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import java.util.ArrayList;
import java.util.List;

/**
 * A device function that generated bodies may call. All of them take a 32-bit and a 64-bit number,
 * the address of the thread's own memory, the mask of the threads that call together, and how often
 * they may call themselves; they return a 32-bit number.
 *
 * @param masked whether it makes use of the mask
 * @param indirect whether it is also called through its address
 */
record Callable(String name, Form form, boolean recursive, boolean masked, boolean indirect) {
  /** How arguments travel. */
  enum Form {
    MEMORY,
    REGISTER,
    STRUCT
  }

  static Callable pick(Grammar grammar, String name, boolean warps) {
    Form form = grammar.pick(List.of(Form.MEMORY, Form.MEMORY, Form.REGISTER, Form.STRUCT));
    boolean recursive = grammar.chance(0.3);
    return new Callable(
        name,
        form,
        recursive,
        warps && !recursive && grammar.chance(0.5),
        form == Form.MEMORY && grammar.chance(0.5));
  }

  private static final String PARAMS =
      "(.param .b32 %s, .param .b64 %s, .param .b64 %s, .param .b32 %s, .param .b32 %s)";

  String signature() {
    return switch (form) {
      case MEMORY ->
          ".func (.param .b32 rv) " + name + PARAMS.formatted("pa", "pb", "ps", "pm", "pd");
      case REGISTER ->
          ".func (.reg .b32 %rv) "
              + name
              + "(.reg .b32 %pa, .reg .b64 %pb, .reg .b64 %ps, .reg .b32 %pm, .reg .b32 %pd)";
      case STRUCT ->
          ".func (.param .align 8 .b8 rv[16]) "
              + name
              + "(.param .align 8 .b8 pa[32], .param .b32 pd)";
    };
  }

  /** Arguments into registers, and a result for those who leave early. */
  List<String> prologue() {
    return switch (form) {
      case MEMORY ->
          List.of(
              "ld.param.u32 %c0, [pa];",
              "ld.param.u64 %tx3, [pb];",
              "ld.param.u64 %slot, [ps];",
              "ld.param.u32 %m0, [pm];",
              "ld.param.u32 %c11, [pd];",
              "st.param.b32 [rv], %c0;");
      case REGISTER ->
          List.of(
              "mov.u32 %c0, %pa;",
              "mov.u64 %tx3, %pb;",
              "mov.u64 %slot, %ps;",
              "mov.u32 %m0, %pm;",
              "mov.u32 %c11, %pd;",
              "mov.u32 %rv, %c0;");
      case STRUCT ->
          List.of(
              "ld.param.u32 %c0, [pa];",
              "ld.param.u32 %m0, [pa+4];",
              "ld.param.u64 %tx3, [pa+8];",
              "ld.param.u64 %slot, [pa+16];",
              "ld.param.u32 %c11, [pd];",
              "st.param.b32 [rv], %c0;",
              "st.param.b64 [rv+8], %tx3;");
    };
  }

  /** The result, from some of the registers. */
  List<String> epilogue() {
    List<String> lines = new ArrayList<>();
    lines.add("xor.b32 %tr0, %r0, %r1;");
    for (String register : List.of("%r2", "%r3", "%s0", "%s1", "%u0")) {
      lines.add("mad.lo.s32 %tr0, %tr0, 31, " + register + ";");
    }
    lines.add("cvt.u32.u64 %tr1, %x0;");
    lines.add("xor.b32 %tr0, %tr0, %tr1;");
    switch (form) {
      case MEMORY -> lines.add("st.param.b32 [rv], %tr0;");
      case REGISTER -> lines.add("mov.u32 %rv, %tr0;");
      case STRUCT -> {
        lines.add("st.param.b32 [rv], %tr0;");
        lines.add("st.param.b64 [rv+8], %x1;");
      }
    }
    lines.add("ret;");
    return lines;
  }

  /**
   * A call.
   *
   * @param depth register or constant that says how often the function may call itself
   * @param address register that holds the function's address, or empty
   * @param label of the prototype of an indirect call
   */
  List<String> call(Grammar grammar, String mask, String depth, String address, String label) {
    String target = address.isEmpty() ? name : address;
    List<String> lines = new ArrayList<>();
    switch (form) {
      case MEMORY -> {
        lines.addAll(List.of("{", ".param .b32 qa, qm, qd, qr;", ".param .b64 qb, qs;"));
        lines.addAll(
            grammar.expand(
                "st.param.b32 [qa], <r>; st.param.b64 [qb], <x>; st.param.b64 [qs], %slot;"
                    + "st.param.b32 [qm], MASK; st.param.b32 [qd], DEPTH"));
        if (!address.isEmpty()) {
          lines.add(
              label
                  + ": .callprototype (.param .b32 _) _ "
                  + PARAMS.formatted("_", "_", "_", "_", "_")
                  + ";");
        }
        lines.add(
            "call (qr), %s, (qa, qb, qs, qm, qd)%s;"
                .formatted(target, address.isEmpty() ? "" : ", " + label));
        lines.addAll(grammar.expand("ld.param.b32 <r>, [qr]"));
        lines.add("}");
      }
      case REGISTER ->
          lines.addAll(
              grammar.expand("call (<r>), " + target + ", (<r>, <x>, %slot, MASK, DEPTH)"));
      case STRUCT -> {
        lines.addAll(List.of("{", ".param .align 8 .b8 qa[32], qr[16];", ".param .b32 qd;"));
        lines.addAll(
            grammar.expand(
                "st.param.b32 [qa], <r>; st.param.b32 [qa+4], MASK; st.param.b64 [qa+8], <x>;"
                    + "st.param.b64 [qa+16], %slot; st.param.b32 [qd], DEPTH"));
        lines.add("call (qr), " + target + ", (qa, qd);");
        lines.addAll(grammar.expand("ld.param.b32 <r>, [qr]; ld.param.b64 <x>, [qr+8]"));
        lines.add("}");
      }
    }
    lines.replaceAll(line -> line.replace("MASK", mask).replace("DEPTH", depth));
    return lines;
  }
}
