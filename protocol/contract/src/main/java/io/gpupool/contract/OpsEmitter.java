// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Collectors;

/** Writes the op numbers, and the interface that takes the ops that are not one entry point. */
final class OpsEmitter {
  private final Contract contract;
  private final Path outputFolder;

  OpsEmitter(Contract contract, Path outputFolder) {
    this.contract = contract;
    this.outputFolder = outputFolder;
  }

  void emit() throws IOException {
    emitNumbers();
    emitSessionOps();
  }

  private void emitNumbers() throws IOException {
    JavaSource source = new JavaSource("Ops");
    source.line("/** Numbers and names of the ops of the call stream. */");
    source.line("public final class Ops {");
    source.line("  /** Identifies this table; both ends of a call stream must have the same. */");
    source.line("  public static final int DIGEST = 0x%08x;", contract.digest());
    source.line("  /** The highest number. */");
    source.line("  public static final int LAST = %d;", contract.ops().size());
    for (Op op : contract.ops()) {
      source.line("  public static final int %s = %d;", op.name(), op.number());
    }
    source.line("");
    source.line("  private static final String[] NAMES = {");
    source.line("    \"none\",");
    for (Op op : contract.ops()) {
      source.line("    \"%s\",", op.name());
    }
    source.line("  };");
    source.line("  private static final boolean[] FENCED = {");
    source.line("    false,");
    for (Op op : contract.ops()) {
      source.line("    %s,", op.fenced());
    }
    source.line("  };");
    source.line("");
    source.line("  private Ops() {}");
    source.line("");
    source.line("  /** The name of an op, also of one that does not exist. */");
    source.line("  public static String name(int op) {");
    source.line("    return op > 0 && op <= LAST ? NAMES[op] : \"op \" + op;");
    source.line("  }");
    source.line("");
    source.line("  /** Whether an op is answered; one that does not exist is not. */");
    source.line("  public static boolean isFenced(int op) {");
    source.line("    return op > 0 && op <= LAST && FENCED[op];");
    source.line("  }");
    source.line("}");
    source.write(outputFolder);
  }

  private void emitSessionOps() throws IOException {
    JavaSource source = new JavaSource("SessionOps");
    source.line("/**");
    source.line(
        " * The ops of the call stream that are not one entry point. Posted ones return their CUresult;");
    source.line(
        " * fenced ones answer their tag, at once or later. Handles are the client's numbers (-1: out of");
    source.line(
        " * range). Buffers lie in the receive buffer and are good for the duration of the call; the");
    source.line(" * address of a NULL buffer is 0. Called by the session's thread alone.");
    source.line(" */");
    source.line("public interface SessionOps extends SessionServices {");
    for (Op op : contract.ops()) {
      if (op.entryPoint().isEmpty()) {
        source.line("");
        source.line("  %s %s(%s);", op.fenced() ? "void" : "int", op.name(), declaration(op));
      }
    }
    source.line("}");
    source.write(outputFolder);
  }

  private static String declaration(Op op) {
    if (op.raw()) {
      return "long frame, int lengthBytes";
    }
    String fields =
        op.fields().stream().map(OpsEmitter::declaration).collect(Collectors.joining(", "));
    return !op.fenced() ? fields : fields.isEmpty() ? "int tag" : "int tag, " + fields;
  }

  private static String declaration(Field field) {
    String name = field.name();
    if (field.role() == Field.Role.OUT) {
      return field.type() == Field.Type.BYTES
          ? "long " + name + "CapacityBytes"
          : "boolean " + name + "Wanted";
    }
    return switch (field.type()) {
      case BYTES -> "long " + name + "Address, long " + name + "Bytes";
      case U64 -> "long " + name;
      case F32 -> "float " + name;
      default -> "int " + name;
    };
  }
}
