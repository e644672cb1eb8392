// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Loads and stores of every type, width and space, byte by byte. */
final class MemoryCases {
  private static final int BYTES = 32;
  private static final List<Type> WORDS = Collections.nCopies(4, Type.B64);
  private static final List<String> SPACES =
      List.of(
          "const",
          "global",
          "local",
          "param",
          "param::entry",
          "shared",
          "shared::cta",
          "shared::cluster");

  /** What lies in memory before a store. */
  private static final long BEFORE = 0x5A5A_5A5A_5A5A_5A5AL;

  private MemoryCases() {}

  static List<Case> of(Sample sample) {
    return List.of(sample.opcode().equals("st") ? store(sample) : load(sample));
  }

  static List<long[]> words() {
    List<Long> some = Edges.of(Type.U64);
    return Edges.tuples(
        "words",
        List.of(
            some.subList(0, 5), some.subList(20, 25), some.subList(30, 33), some.subList(50, 53)));
  }

  /** A thread's place in the space that an instruction names; generic addresses are global. */
  static String place(Sample sample) {
    return switch (sample.oneOf(SPACES, "global")) {
      case "const" -> "constants";
      case "param", "param::entry" -> "bytes";
      case "local" -> "%l";
      case "global" -> "%g";
      default -> "%s";
    };
  }

  /** The space of that place, as an unadorned access names it. */
  static String plainSpace(Sample sample) {
    return sample.oneOf(SPACES, "global").replaceAll("::.*", "");
  }

  private static int width(Sample sample) {
    return sample.has("v8") ? 8 : sample.has("v4") ? 4 : sample.has("v2") ? 2 : 1;
  }

  private static String hint(Sample sample) {
    return sample.has("L2::cache_hint") ? ", %w" : "";
  }

  private static Case load(Sample sample) {
    Type type = sample.type();
    String place = place(sample);
    boolean fixed = place.equals("constants") || place.equals("bytes");
    StringBuilder body = new StringBuilder();
    if (!fixed) {
      for (int i = 0; i < 4; i++) {
        body.append("st.%s.b64 [%s+%d], %%a%d; ".formatted(plainSpace(sample), place, 8 * i, i));
      }
    }
    boolean wide = type == Type.B128;
    int count = wide ? 2 : width(sample);
    List<Type> results = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      // A register that is wider than what is loaded shows how it is extended.
      results.add(type == Type.F32 || type == Type.F64 ? type : Type.B64);
      names.add("%x" + i);
    }
    String to = count == 1 ? "%x0" : "{" + String.join(", ", names) + "}";
    if (wide) {
      body.append(".reg .b128 %q; ");
      to = "%q";
    }
    body.append("%s %s, [%s]%s;".formatted(sample.text(), to, place, hint(sample)));
    if (wide) {
      body.append(" mov.b128 {%x0, %x1}, %q;");
    }
    Type element = wide ? Type.B64 : type;
    Case.Check check =
        (arguments, found) -> {
          ByteBuffer memory = fixed ? buffer(InstructionRun.constants()) : memory(arguments);
          for (int i = 0; i < count; i++) {
            long expected = read(memory, i * element.bytes(), element);
            if (element.bits() < 64 && !element.isSigned()) {
              expected &= Case.mask(element);
            }
            if (expected != found[i]) {
              return Long.toHexString(expected) + " in element " + i;
            }
          }
          return null;
        };
    return new Case(sample.text(), body.toString(), results, WORDS, words(), Case.each(check));
  }

  private static ByteBuffer buffer(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  static ByteBuffer memory(long... words) {
    ByteBuffer memory = buffer(new byte[8 * words.length]);
    for (int i = 0; i < words.length; i++) {
      memory.putLong(8 * i, words[i]);
    }
    return memory;
  }

  /** An element, extended as its type says. */
  static long read(ByteBuffer memory, int at, Type type) {
    return switch (type.bytes()) {
      case 1 -> memory.get(at);
      case 2 -> memory.getShort(at);
      case 4 -> memory.getInt(at);
      default -> memory.getLong(at);
    };
  }

  static void write(ByteBuffer memory, int at, Type type, long value) {
    switch (type.bytes()) {
      case 1 -> memory.put(at, (byte) value);
      case 2 -> memory.putShort(at, (short) value);
      case 4 -> memory.putInt(at, (int) value);
      default -> memory.putLong(at, value);
    }
  }

  private static Case store(Sample sample) {
    Type type = sample.type();
    boolean wide = type == Type.B128;
    Type element = wide ? Type.B64 : type;
    int count = wide ? 2 : width(sample);
    String place = place(sample);
    String space = plainSpace(sample);
    StringBuilder body = new StringBuilder(".reg .f32 %f<4>; .reg .f64 %d<4>; .reg .b64 %b; ");
    body.append("mov.b64 %b, ").append(BEFORE).append("; ");
    for (int i = 0; i < BYTES / 8; i++) {
      body.append("st.%s.b64 [%s+%d], %%b; ".formatted(space, place, 8 * i));
    }
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int j = i % 4;
      switch (type) {
        case F32 -> {
          if (i < 4) {
            body.append("{ .reg .b32 %%h; mov.b64 {%%f%d, %%h}, %%a%d; } ".formatted(j, j));
          }
          names.add("%f" + j);
        }
        case F64 -> {
          body.append("mov.b64 %%d%d, %%a%d; ".formatted(j, j));
          names.add("%d" + j);
        }
        default -> names.add("%a" + j);
      }
    }
    String from = count == 1 ? names.getFirst() : "{" + String.join(", ", names) + "}";
    if (wide) {
      body.append(".reg .b128 %q; mov.b128 %q, {%a0, %a1}; ");
      from = "%q";
    }
    body.append("%s [%s], %s%s; ".formatted(sample.text(), place, from, hint(sample)));
    for (int i = 0; i < BYTES / 8; i++) {
      body.append("ld.%s.b64 %%x%d, [%s+%d]; ".formatted(space, i, place, 8 * i));
    }
    Case.Reference reference =
        arguments -> {
          ByteBuffer memory = memory(BEFORE, BEFORE, BEFORE, BEFORE);
          for (int i = 0; i < count; i++) {
            write(memory, i * element.bytes(), element, arguments[i % 4]);
          }
          return new long[] {
            memory.getLong(0), memory.getLong(8), memory.getLong(16), memory.getLong(24)
          };
        };
    return new Case(
        sample.text(), body.toString(), WORDS, WORDS, words(), Case.exact(WORDS, reference));
  }
}
