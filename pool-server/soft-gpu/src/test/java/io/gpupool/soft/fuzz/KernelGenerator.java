// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.fuzz.Program.Body;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Makes a valid kernel from a number: it ends, it touches what is its own alone, and what it leaves
 * in memory does not depend on the order in which threads run.
 */
final class KernelGenerator {
  /** Bytes of the output that belong to each thread: what it plays with, then its registers. */
  static final int SLOT_BYTES = 512;

  /** Bytes of the input, which all threads may read. */
  static final int INPUT_BYTES = 4096;

  /** Bytes that all threads update. */
  static final int COMMON_BYTES = 64;

  /** Length of the parameter block. */
  static final int PARAM_BYTES = 48;

  private static final int SHARED_SLOT_BYTES = 16;

  static final String REGISTERS =
      """
        .reg .pred %p<4>, %tp<4>;
        .reg .b16 %h<4>, %th<2>, %k<3>, %b<2>;
        .reg .b32 %r<4>, %tr<6>, %v<2>, %w<1>, %m<16>, %c<16>;
        .reg .s32 %s<2>;
        .reg .u32 %u<1>;
        .reg .b64 %x<3>, %tx<4>, %slot, %in, %out, %atom, %sh;
        .reg .s64 %y<1>;
        .reg .u64 %z<1>;
        .reg .f32 %f<4>, %tf<1>;
        .reg .f64 %e<3>, %te<1>;
        .local .align 16 .b8 local[64];
      """;

  private final Grammar grammar;
  private final String name;
  private final List<Callable> callables = new ArrayList<>();
  private final StringBuilder header = new StringBuilder();
  private final List<Body> bodies = new ArrayList<>();

  private KernelGenerator(long seed) {
    grammar = new Grammar(new Random(seed * 0x9E37_79B9_7F4A_7C15L));
    name = "fuzz" + seed;
  }

  /** The kernel that belongs to a number. */
  static Program generate(long seed) {
    return new KernelGenerator(seed).program();
  }

  private Program program() {
    boolean barriers = grammar.chance(0.5);
    boolean warps = grammar.chance(0.6);
    int blockX = grammar.pick(List.of(1, 3, 16, 31, 32, 32, 33, 40, 64));
    int blockY = grammar.chance(0.2) && blockX <= 33 ? 2 : 1;
    int grid = grammar.chance(0.3) ? 2 + grammar.below(2) : 1;
    int shared = blockX * blockY * SHARED_SLOT_BYTES + COMMON_BYTES;
    boolean dynamic = grammar.chance(0.3);
    Launch launch =
        new Launch(new Dim3(grid), new Dim3(blockX, blockY), dynamic ? shared : 0, false);
    header.append(".const .align 16 .b8 %s_table[256] = {".formatted(name));
    for (int i = 0; i < 256; i++) {
      header.append(i == 0 ? "" : ", ").append(grammar.below(256));
    }
    header.append("};\n");
    if (dynamic) {
      header.append(".extern .shared .align 16 .b8 %s_shared[];\n".formatted(name));
    }
    int functions = grammar.below(3);
    for (int i = 0; i < functions; i++) {
      callables.add(Callable.pick(grammar, name + "_f" + i, warps));
      bodies.add(function(callables.getLast()));
    }
    declare();
    Flow flow = new Flow(grammar, name + "_table", callables, warps);
    flow.fullWarps = blockX * blockY % 32 == 0;
    flow.threads = blockX * blockY;
    flow.barriers = barriers;
    List<Node> nodes = new ArrayList<>();
    nodes.add(new Node.Fixed(start(dynamic, shared)));
    nodes.addAll(load());
    nodes.add(new Node.Group(flow.body(8 + grammar.below(16))));
    nodes.addAll(dump());
    nodes.add(Node.fixed("ret;"));
    String head =
        """
        .visible .entry %s(.param .u64 in, .param .u64 out, .param .u64 atom, .param .u32 n,
            .param .align 8 .b8 s[16])
        {
        """
                .formatted(name)
            + REGISTERS
            + (dynamic ? "" : "  .shared .align 16 .b8 %s_shared[%d];\n".formatted(name, shared));
    bodies.add(new Body(head, nodes));
    return new Program(name, launch, header.toString(), bodies);
  }

  /** Declares the functions, and a table of those that are called through memory. */
  private void declare() {
    callables.forEach(callable -> header.append(callable.signature()).append(";\n"));
    List<String> names = callables.stream().filter(Callable::indirect).map(Callable::name).toList();
    if (!names.isEmpty()) {
      header.append(
          ".global .align 8 .u64 %s_calls[%d] = {%s};\n"
              .formatted(name, names.size(), String.join(", ", names)));
    }
  }

  private Body function(Callable callable) {
    List<Callable> below = callables.subList(0, callables.size() - 1);
    Flow flow = new Flow(grammar, name + "_table", below, callable.masked());
    flow.inFunction = true;
    flow.itself = callable;
    List<Node> nodes = new ArrayList<>();
    nodes.add(new Node.Fixed(callable.prologue()));
    nodes.addAll(mix());
    nodes.add(new Node.Group(flow.body(3 + grammar.below(8))));
    nodes.add(Node.fixed("DONE:"));
    nodes.add(new Node.Fixed(callable.epilogue()));
    return new Body(callable.signature() + "\n{\n" + REGISTERS, nodes);
  }

  /** Addresses, the mask of the warp's threads, and shared memory filled. */
  private List<String> start(boolean dynamic, int sharedBytes) {
    List<String> lines = new ArrayList<>();
    lines.addAll(
        List.of(
            "mov.u32 %tr0, %tid.x;",
            "mov.u32 %tr1, %tid.y;",
            "mov.u32 %tr2, %ntid.x;",
            "mad.lo.s32 %c15, %tr1, %tr2, %tr0;",
            "mov.u32 %tr3, %ntid.y;",
            "mul.lo.s32 %c14, %tr2, %tr3;",
            "mov.u32 %tr4, %ctaid.x;",
            "mad.lo.s32 %c13, %tr4, %c14, %c15;",
            "ld.param.u64 %in, [in];",
            "ld.param.u64 %atom, [atom];",
            "ld.param.u64 %out, [out];",
            "mul.wide.u32 %tx0, %c13, " + SLOT_BYTES + ";",
            "add.s64 %slot, %out, %tx0;",
            "mov.u32 %tr0, %laneid;",
            "sub.s32 %tr1, %c15, %tr0;",
            "sub.s32 %tr1, %c14, %tr1;",
            "min.u32 %tr1, %tr1, 32;",
            "bmsk.clamp.b32 %m0, 0, %tr1;",
            "mov.u64 %sh, %s_shared;".replace("%s_", name + "_"),
            "mul.wide.u32 %tx0, %c15, " + SHARED_SLOT_BYTES + ";",
            "add.s64 %tx1, %sh, %tx0;",
            "mov.u32 %tr5, 0;",
            "st.shared.v2.u64 [%tx1], {%tx0, %tx0};",
            "st.shared.v4.u32 [%sh+"
                + (sharedBytes - COMMON_BYTES)
                + "], {%tr5, %tr5, %tr5, %tr5};",
            "bar.sync 0;"));
    return lines;
  }

  /** Registers filled from the input. */
  private List<Node> load() {
    List<Node> nodes = new ArrayList<>();
    nodes.add(
        Node.fixed(
            "mad.lo.s32 %tr0, %c13, 52, " + 4 * grammar.below(100) + ";",
            "and.b32 %tr0, %tr0, 0x780;",
            "cvt.u64.u32 %tx0, %tr0;",
            "add.s64 %tx0, %in, %tx0;"));
    int offset = 0;
    for (char kind : "hrxfekbvw".toCharArray()) {
      for (String register : Grammar.REGISTERS.get(kind)) {
        int bytes = "xe".indexOf(kind) >= 0 ? 8 : "hkb".indexOf(kind) >= 0 ? 2 : 4;
        String type = kind == 'f' ? "f32" : kind == 'e' ? "f64" : "b" + 8 * bytes;
        // Floating registers come from the part of the input that holds numbers of note.
        int from = "fe".indexOf(kind) >= 0 ? 2048 : 0;
        offset = (-(-offset & -bytes) + bytes) % 128 & -bytes;
        nodes.add(
            Node.lines("ld.global.%s %s, [%%tx0+%d];".formatted(type, register, from + offset)));
      }
    }
    for (String register : Grammar.REGISTERS.get('p')) {
      nodes.add(
          Node.lines(grammar.expand("setp.{lt|gt}.s32 " + register + ", <r>, <ri>").getFirst()));
    }
    nodes.add(fillLocal());
    return nodes;
  }

  private Node fillLocal() {
    List<String> lines = new ArrayList<>();
    for (int at = 0; at < 64; at += 16) {
      lines.addAll(grammar.expand("st.local.v2.u64 [local+" + at + "], {<x>, <x>}"));
    }
    return new Node.Lines(lines);
  }

  /** A function's registers, made from its arguments. */
  private List<Node> mix() {
    List<Node> nodes = new ArrayList<>();
    int turn = 1;
    for (String register : Grammar.REGISTERS.get('r')) {
      nodes.add(
          Node.lines("mad.lo.s32 %s, %%c0, %d, %d;".formatted(register, 2 * turn + 1, turn * 977)));
      turn++;
    }
    for (String register : Grammar.REGISTERS.get('x')) {
      nodes.add(
          Node.lines("mad.lo.s64 %s, %%tx3, %d, %d;".formatted(register, 2 * turn + 1, turn * 77)));
      turn++;
    }
    for (String register : Grammar.REGISTERS.get('h')) {
      nodes.add(Node.lines(grammar.expand("cvt.u16.u32 " + register + ", <r>").getFirst()));
    }
    for (String register : Grammar.REGISTERS.get('f')) {
      nodes.add(Node.lines(grammar.expand("cvt.rn.f32.s32 " + register + ", <r>").getFirst()));
    }
    for (String register : Grammar.REGISTERS.get('e')) {
      nodes.add(Node.lines(grammar.expand("cvt.rn.f64.s64 " + register + ", <x>").getFirst()));
    }
    for (String register : Grammar.REGISTERS.get('k')) {
      nodes.add(Node.lines(grammar.expand("mov.b16 " + register + ", <h>").getFirst()));
    }
    for (String register : Grammar.REGISTERS.get('b')) {
      nodes.add(Node.lines(grammar.expand("mov.b16 " + register + ", <h>").getFirst()));
    }
    for (char kind : "vw".toCharArray()) {
      for (String register : Grammar.REGISTERS.get(kind)) {
        nodes.add(Node.lines(grammar.expand("mov.b32 " + register + ", <r>").getFirst()));
      }
    }
    for (String register : Grammar.REGISTERS.get('p')) {
      nodes.add(Node.lines(grammar.expand("setp.lt.s32 " + register + ", <r>, <ri>").getFirst()));
    }
    nodes.add(fillLocal());
    return nodes;
  }

  /** Stores every register; NaNs all alike. */
  static List<Node> dump() {
    List<Node> nodes = new ArrayList<>();
    int at = 128;
    for (char kind : "xerfvwhkbp".toCharArray()) {
      for (String register : Grammar.REGISTERS.get(kind)) {
        String to = "[%slot+" + at + "]";
        nodes.add(
            switch (kind) {
              case 'x' -> Node.lines("st.global.b64 %s, %s;".formatted(to, register));
              case 'r' -> Node.lines("st.global.b32 %s, %s;".formatted(to, register));
              case 'h' -> Node.lines("st.global.b16 %s, %s;".formatted(to, register));
              case 'p' ->
                  Node.lines(
                      "selp.b32 %%tr0, 1, 0, %s;".formatted(register),
                      "st.global.u8 %s, %%tr0;".formatted(to));
              case 'e' ->
                  Node.lines(
                      "setp.nan.f64 %%tp0, %1$s, %1$s;".formatted(register),
                      "selp.f64 %%te0, 0d7FF8000000000000, %s, %%tp0;".formatted(register),
                      "st.global.f64 %s, %%te0;".formatted(to));
              case 'f' ->
                  Node.lines(
                      "setp.nan.f32 %%tp0, %1$s, %1$s;".formatted(register),
                      "selp.f32 %%tf0, 0f7FC00000, %s, %%tp0;".formatted(register),
                      "st.global.f32 %s, %%tf0;".formatted(to));
              case 'k', 'b' -> half(register, kind == 'k' ? "f16" : "bf16", to);
              default -> pair(register, kind == 'v' ? "f16" : "bf16", to);
            });
        at += "xe".indexOf(kind) >= 0 ? 8 : "hkb".indexOf(kind) >= 0 ? 2 : kind == 'p' ? 1 : 4;
      }
    }
    return nodes;
  }

  private static Node half(String register, String type, String to) {
    return Node.lines(
        "setp.nan.%s %%tp0, %2$s, %2$s;".formatted(type, register),
        "selp.b16 %%th0, 0x7FFF, %s, %%tp0;".formatted(register),
        "st.global.b16 %s, %%th0;".formatted(to));
  }

  private static Node pair(String register, String type, String to) {
    return Node.lines(
        "mov.b32 {%%th0, %%th1}, %s;".formatted(register),
        "setp.nan.%s %%tp0, %%th0, %%th0;".formatted(type),
        "selp.b16 %th0, 0x7FFF, %th0, %tp0;",
        "setp.nan.%s %%tp0, %%th1, %%th1;".formatted(type),
        "selp.b16 %th1, 0x7FFF, %th1, %tp0;",
        "mov.b32 %tr0, {%th0, %th1};",
        "st.global.b32 %s, %%tr0;".formatted(to));
  }
}
