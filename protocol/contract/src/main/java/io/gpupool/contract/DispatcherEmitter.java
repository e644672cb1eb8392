// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A writer of the decoder of request frames, which checks lengths, maps handles, calls and answers.
 */
final class DispatcherEmitter {
  private final Contract contract;
  private final Path outputFolder;

  DispatcherEmitter(Contract contract, Path outputFolder) {
    this.contract = contract;
    this.outputFolder = outputFolder;
  }

  void emit() throws IOException {
    JavaSource source = new JavaSource("Dispatcher");
    emitHead(source);
    emitDispatch(source);
    for (Op op : contract.ops()) {
      if (!op.raw()) {
        emitOp(source, op);
      }
    }
    emitReaders(source);
    source.line("}");
    source.write(outputFolder);
  }

  private static void emitHead(JavaSource source) {
    source.line("import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;");
    source.line("import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;");
    source.line("");
    source.line("import java.lang.foreign.MemorySegment;");
    source.line("");
    source.line(
        "/** Decoder of request frames, which executes them where they lie. One session's thread"
            + " uses it. */");
    source.line("public final class Dispatcher {");
    source.line(
        "  /** The result of a frame whose length does not fit its op: the stream ends. */");
    source.line("  public static final int MALFORMED = -1;");
    source.line("");
    source.line("  /** The result of a frame whose op does not exist. */");
    source.line("  public static final int UNKNOWN = -2;");
    source.line("");
    source.line(
        "  private static final MemorySegment MEMORY ="
            + " MemorySegment.NULL.reinterpret(Long.MAX_VALUE);");
    source.line("");
    source.line("  private final Backend backend;");
    source.line("  private final SessionTopics session;");
    source.line("");
    source.line("  public Dispatcher(Backend backend, SessionTopics session) {");
    source.line("    this.backend = backend;");
    source.line("    this.session = session;");
    source.line("  }");
    source.line("");
  }

  private void emitDispatch(JavaSource source) {
    source.line("  /**");
    source.line("   * Executes one frame.");
    source.line("   *");
    source.line("   * @param op its op");
    source.line("   * @param frame its address, header included");
    source.line("   * @param lengthBytes its length, which the caller has checked to be there");
    source.line(
        "   * @return the CUresult of a posted op; 0 for a fenced one, which is or will be"
            + " answered; {@link");
    source.line("   *     #MALFORMED} or {@link #UNKNOWN}");
    source.line("   */");
    source.line("  public int dispatch(int op, long frame, int lengthBytes) {");
    source.line("    return switch (op) {");
    for (Op op : contract.ops()) {
      if (op.raw()) {
        source.line(
            "      case Ops.%s -> session.%s().%s(frame, lengthBytes);",
            op.name(), op.topic(), op.name());
      } else {
        source.line("      case Ops.%s -> %s(frame, lengthBytes);", op.name(), op.name());
      }
    }
    source.line("      default -> UNKNOWN;");
    source.line("    };");
    source.line("  }");
  }

  private static void emitReaders(JavaSource source) {
    source.line("");
    source.line("  private static int word(long address) {");
    source.line("    return MEMORY.get(JAVA_INT_UNALIGNED, address);");
    source.line("  }");
    source.line("");
    source.line("  private static long slot(long address) {");
    source.line("    return MEMORY.get(JAVA_LONG_UNALIGNED, address);");
    source.line("  }");
    source.line("");
    source.line("  private static int number(long address) {");
    source.line("    long number = slot(address);");
    source.line("    return number >= 0 && number <= Integer.MAX_VALUE ? (int) number : -1;");
    source.line("  }");
    source.line("");
    source.line(
        "  /** Returns the bytes of a buffer in the frame, or -1 if it cannot fit in one. */");
    source.line("  private static long padded(long lengthBytes) {");
    source.line("    if (lengthBytes == -1) {");
    source.line("      return 0;");
    source.line("    }");
    source.line(
        "    return lengthBytes >= 0 && lengthBytes <= Integer.MAX_VALUE ? (lengthBytes + 7) & -8 :"
            + " -1;");
    source.line("  }");
  }

  private void emitOp(JavaSource source, Op op) {
    int firstSlot = op.firstSlot();
    int fixedBytes = firstSlot + 8 * op.fields().size();
    List<Integer> buffers = new ArrayList<>();
    for (int i = 0; i < op.fields().size(); i++) {
      Field field = op.fields().get(i);
      if (field.type().isInputBuffer()) {
        buffers.add(i);
      }
    }
    source.line("");
    source.line("  private int %s(long frame, int lengthBytes) {", op.name());
    if (buffers.isEmpty()) {
      source.line("    if (lengthBytes != %d) {", fixedBytes);
      source.line("      return MALFORMED;");
      source.line("    }");
    } else {
      source.line("    if (lengthBytes < %d) {", fixedBytes);
      source.line("      return MALFORMED;");
      source.line("    }");
      source.line("    long end = %d;", fixedBytes);
      for (int i : buffers) {
        source.line("    long bytes%d = slot(frame + %d);", i, firstSlot + 8 * i);
        source.line("    long buffer%d = bytes%d == -1 ? 0 : frame + end;", i, i);
        source.line("    if (padded(bytes%d) < 0) {", i);
        source.line("      return MALFORMED;");
        source.line("    }");
        source.line("    end += padded(bytes%d);", i);
      }
      source.line("    if (lengthBytes != end) {");
      source.line("      return MALFORMED;");
      source.line("    }");
    }
    if (op.fenced()) {
      source.line("    int tag = word(frame + %d);", Op.HEADER_BYTES);
      source.line("    if (session.answerDeferred(tag)) {");
      source.line("      return 0;");
      source.line("    }");
    }
    EntryPoint entryPoint = op.entryPoint();
    if (entryPoint == null) {
      emitSessionCall(source, op, firstSlot);
    } else {
      emitBackendCall(source, op, entryPoint, firstSlot);
    }
    source.line("  }");
  }

  private static void emitSessionCall(JavaSource source, Op op, int firstSlot) {
    List<String> arguments = new ArrayList<>();
    if (op.fenced()) {
      arguments.add("tag");
    }
    for (int i = 0; i < op.fields().size(); i++) {
      Field field = op.fields().get(i);
      String at = "frame + " + (firstSlot + 8 * i);
      Field.Member member = field.member();
      if (member != null) {
        addMember(arguments, member, plain(field.type(), at));
      } else if (field.role() == Field.Role.OUT) {
        arguments.add("slot(" + at + ")" + (field.type() == Field.Type.BYTES ? "" : " != 0"));
      } else if (field.type() == Field.Type.STRUCT) {
        arguments.add("WireStruct.at(buffer" + i + ", Math.max(bytes" + i + ", 0))");
      } else if (field.type().isInputBuffer()) {
        arguments.add("buffer" + i);
        arguments.add("Math.max(bytes" + i + ", 0)");
      } else {
        arguments.add(plain(field.type(), at));
      }
    }
    String call =
        "session." + op.topic() + "()." + op.name() + "(" + String.join(", ", arguments) + ");";
    if (op.fenced()) {
      source.line("    %s", call);
      source.line("    return 0;");
    } else {
      source.line("    return %s", call);
    }
  }

  /** Adds the value of a field to that of its group, which the field before may have begun. */
  private static void addMember(List<String> arguments, Field.Member member, String value) {
    if (member.first()) {
      arguments.add("new " + member.group() + "(" + value + ")");
    } else {
      String begun = arguments.removeLast();
      arguments.add(begun.substring(0, begun.length() - 1) + ", " + value + ")");
    }
  }

  private static String plain(Field.Type type, String at) {
    return switch (type) {
      case U64 -> "slot(" + at + ")";
      case F32 -> "Float.intBitsToFloat(word(" + at + "))";
      case U32, I32 -> "word(" + at + ")";
      default -> "number(" + at + ")";
    };
  }

  private void emitBackendCall(JavaSource source, Op op, EntryPoint entryPoint, int firstSlot) {
    if (!entryPoint.backend()) {
      throw new IllegalArgumentException(entryPoint.symbol() + " is auto but not of the backend");
    }
    String fail =
        op.fenced() ? "session.reply(tag, CudaResult.INVALID_HANDLE)" : "CudaResult.INVALID_HANDLE";
    List<String> arguments = new ArrayList<>();
    boolean outputs = false;
    for (int i = 0; i < op.fields().size(); i++) {
      Field field = op.fields().get(i);
      String at = "frame + " + (firstSlot + 8 * i);
      String name = "v" + i;
      Parameter parameter = entryPoint.parameters().get(i);
      if (field.role() == Field.Role.OUT) {
        if (field.type().isHandle()) {
          throw new IllegalArgumentException(entryPoint.symbol() + " makes a handle: not auto");
        }
        if (!outputs) {
          source.line("    long outputs = session.outputs();");
          source.line("    long next = outputs;");
          outputs = true;
        }
        // A driver may not expect NULL, so an unwanted output goes to a place that nobody reads.
        source.line("    long %s = outputs + SessionServices.OUTPUT_BYTES - 8;", name);
        source.line("    if (slot(%s) != 0) {", at);
        source.line("      %s = next;", name);
        source.line("      next += 8;");
        source.line("    }");
      } else if (field.type().isHandle()) {
        String kind = field.type().name().toLowerCase(java.util.Locale.ROOT);
        source.line("    long %s = session.%sHandle(number(%s));", name, kind, at);
        source.line("    if (%s == SessionServices.NO_HANDLE) {", name);
        source.line("      return %s;", fail);
        source.line("    }");
      } else {
        String keyword =
            switch (field.type()) {
              case U64 -> "long";
              case F32 -> "float";
              default -> "int";
            };
        source.line("    %s %s = %s;", keyword, name, masked(parameter, plain(field.type(), at)));
      }
      arguments.add(name);
    }
    String refusal =
        op.fenced() ? "session.reply(tag, CudaResult.INVALID_VALUE)" : "CudaResult.INVALID_VALUE";
    emitSpanChecks(source, entryPoint.parameters(), refusal);
    String call = "backend." + entryPoint.symbol() + "(" + String.join(", ", arguments) + ")";
    if (!op.fenced()) {
      source.line("    return %s;", call);
    } else if (outputs) {
      source.line("    return session.reply(tag, %s, outputs, (int) (next - outputs));", call);
    } else {
      source.line("    return session.reply(tag, %s);", call);
    }
  }

  /** Makes the session check each range of device memory before the backend gets it. */
  private static void emitSpanChecks(
      JavaSource source, List<Parameter> parameters, String refusal) {
    for (int i = 0; i < parameters.size(); i++) {
      DeviceSpan span = parameters.get(i).span();
      if (span != null) {
        source.line("    if (!session.ownsMemory(v%d, %s)) {", i, span.arguments(parameters));
        source.line("      return %s;", refusal);
        source.line("    }");
      }
    }
  }

  private static String masked(Parameter parameter, String value) {
    return switch (parameter.type()) {
      case "unsigned char" -> value + " & 0xff";
      case "unsigned short" -> value + " & 0xffff";
      default -> value;
    };
  }
}
