// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/** Moves, packing and unpacking, address spaces, and what has no effect. */
final class MoveCases {
  private static final List<Type> ONE = List.of(Type.B64);

  private MoveCases() {}

  static List<Case> of(Sample sample) {
    return switch (sample.opcode()) {
      case "mov" -> moves(sample);
      case "cvta" -> List.of(conversion(sample));
      case "isspacep" -> spaces(sample);
      case "mapa" -> List.of(clusterAddress(sample));
      case "getctarank" -> List.of(clusterRank(sample));
      default -> throw new IllegalStateException("no reference for " + sample.text());
    };
  }

  private static Case of(String name, String body, Type result, Case.Single reference) {
    return new Case(
        name, body, List.of(result), ONE, Edges.tuples(ONE), CompareCases.bits(result, reference));
  }

  private static List<Case> moves(Sample sample) {
    Type type = sample.type();
    String text = sample.text();
    List<Case> cases = new ArrayList<>();
    switch (type) {
      case PRED -> {
        String body =
            ".reg .pred %p0; .reg .b64 %q; and.b64 %q, %a0, 1; setp.ne.u64 %p0, %q, 0; "
                + text
                + " %x0, %p0;";
        cases.add(of(text, body, Type.PRED, a -> a[0] & 1));
      }
      case B128 -> cases.addAll(wide(text));
      default -> {
        List<Type> types = List.of(type);
        cases.add(
            new Case(
                text,
                text + " %x0, %a0;",
                types,
                types,
                Edges.tuples(types),
                CompareCases.bits(type, a -> a[0])));
        if (type.kind() == Type.Kind.BITS) {
          for (int part = type == Type.B16 ? 8 : 16; part >= 8 && part < type.bits(); part *= 2) {
            cases.add(parts(text, type, part));
          }
          if (type == Type.B32) {
            cases.add(parts(text, type, 8));
          }
        }
      }
    }
    return cases;
  }

  /** Taken apart, and put together the other way round. */
  private static Case parts(String text, Type type, int part) {
    int count = type.bits() / part;
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      names.add("%r" + i);
    }
    String kind = part == 8 ? "b16" : "b" + part;
    String body =
        ".reg .%s %%r<%d>; %s {%s}, %%a0; %s %%x0, {%s};"
            .formatted(
                part == 8 ? "b8" : kind,
                count,
                text,
                String.join(", ", names),
                text,
                String.join(", ", names.reversed()));
    List<Type> types = List.of(type);
    return new Case(
        text + " by " + part,
        body,
        types,
        types,
        Edges.tuples(types),
        CompareCases.bits(
            type,
            a -> {
              long result = 0;
              for (int i = 0; i < count; i++) {
                long value = a[0] >>> i * part & (1L << part) - 1;
                result |= value << (count - 1 - i) * part;
              }
              return result;
            }));
  }

  private static List<Case> wide(String text) {
    List<Type> two = List.of(Type.B64, Type.B64);
    List<long[]> tuples = Edges.tuples(two);
    Case.Judge swapped = Case.exact(two, a -> new long[] {a[1], a[0]});
    String halves =
        ".reg .b128 %%q, %%r; %s %%q, {%%a1, %%a0}; %s %%r, %%q; %s {%%x0, %%x1}, %%r;"
            .formatted(text, text, text);
    String quarters =
        (".reg .b128 %%q; .reg .b32 %%r<4>; %s %%q, {%%a1, %%a0}; %s {%%r0, %%r1, %%r2, %%r3}, %%q; "
                + "%s %%q, {%%r0, %%r1, %%r2, %%r3}; %s {%%x0, %%x1}, %%q;")
            .formatted(text, text, text, text);
    return List.of(
        new Case(text, halves, two, two, tuples, swapped),
        new Case(text + " by 32", quarters, two, two, tuples, swapped));
  }

  /** What is read through the one address is what was written through the other. */
  private static Case conversion(Sample sample) {
    String place = MemoryCases.place(sample);
    boolean fixed = place.equals("constants") || place.equals("bytes");
    String space = sample.oneOf(List.of("const", "param", "param::entry"), "");
    String plain = space.isEmpty() ? MemoryCases.plainSpace(sample) : space;
    String prefix = space.startsWith("param") ? "param" : plain;
    String write = fixed ? "" : "st." + prefix + ".b64 [" + place + "], %a0; ";
    String address = ".reg .b64 %q, %r; mov.u64 %q, " + place + "; ";
    String other = sample.text().replace(".to", "").replaceAll("\\.u64", ".u64");
    String body =
        sample.has("to")
            ? address
                + write
                + other
                + " %r, %q; "
                + sample.text()
                + " %q, %r; ld."
                + prefix
                + ".b64 %x0, [%q];"
            : address + write + sample.text() + " %r, %q; ld.b64 %x0, [%r];";
    long constant = MemoryCases.memory(0).getLong(0);
    for (int i = 7; i >= 0; i--) {
      constant = constant << 8 | InstructionRun.constants()[i] & 255;
    }
    long expected = constant;
    return of(sample.text(), body, Type.B64, a -> fixed ? expected : a[0]);
  }

  /** Generic addresses of four spaces, of which one is the right one. */
  private static List<Case> spaces(Sample sample) {
    String asked = sample.modifiers().getFirst().replaceAll("::.*", "");
    List<Case> cases = new ArrayList<>();
    for (String space : List.of("global", "shared", "local", "param")) {
      String place =
          switch (space) {
            case "global" -> "%g";
            case "shared" -> "%s";
            case "local" -> "%l";
            default -> "bytes";
          };
      String body =
          ".reg .b64 %%q; mov.u64 %%q, %s; cvta.%s.u64 %%q, %%q; %s %%x0, %%q;"
              .formatted(place, space, sample.text());
      boolean right = space.equals(asked);
      cases.add(of(sample.text() + " of " + space, body, Type.PRED, _ -> right ? 1 : 0));
    }
    return cases;
  }

  /** The block's own address, since it is alone in its cluster. */
  private static Case clusterAddress(Sample sample) {
    boolean generic = sample.modifiers().size() == 1;
    String t = "." + sample.type().ptxName();
    String prepare =
        sample.type() == Type.U32
            ? ".reg .b32 %q, %r; cvt.u32.u64 %q, %s; "
            : ".reg .b64 %q, %r; mov.u64 %q, %s; " + (generic ? "cvta.shared.u64 %q, %q; " : "");
    String load =
        sample.type() == Type.U64 && generic ? "ld.b64 %x0, [%r];" : "ld.shared.b64 %x0, [%r];";
    String body = prepare + "st.shared.b64 [%s], %a0; " + sample.text() + " %r, %q, 0; " + load;
    return of(sample.text() + t, body, Type.B64, a -> a[0]);
  }

  private static Case clusterRank(Sample sample) {
    boolean generic = sample.modifiers().size() == 1;
    String prepare =
        sample.type() == Type.U32
            ? ".reg .b32 %q; cvt.u32.u64 %q, %s; "
            : ".reg .b64 %q; mov.u64 %q, %s; " + (generic ? "cvta.shared.u64 %q, %q; " : "");
    String body = prepare + sample.text() + " %x0, %q;";
    return of(sample.text(), body, Type.B32, _ -> 0);
  }
}
