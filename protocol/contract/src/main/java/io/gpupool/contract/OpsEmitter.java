// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A writer of the op numbers and, for each topic, of the interface for those of its ops that are
 * not one entry point.
 */
final class OpsEmitter {
  private final Contract contract;
  private final Path outputFolder;

  OpsEmitter(Contract contract, Path outputFolder) {
    this.contract = contract;
    this.outputFolder = outputFolder;
  }

  void emit() throws IOException {
    emitNumbers();
    emitGroups();
    emitTopics();
  }

  private void emitNumbers() throws IOException {
    JavaSource source = new JavaSource("Ops");
    source.line("/** Numbers and names of the ops of the call stream. */");
    source.line("public final class Ops {");
    source.line("  /** The digest of this table, which both ends of a call stream must have. */");
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
    source.line("  /** Returns the name of an op, also of one that does not exist. */");
    source.line("  public static String name(int op) {");
    source.line("    return op > 0 && op <= LAST ? NAMES[op] : \"op \" + op;");
    source.line("  }");
    source.line("");
    source.line("  /** Returns whether an op is answered; one that does not exist is not. */");
    source.line("  public static boolean isFenced(int op) {");
    source.line("    return op > 0 && op <= LAST && FENCED[op];");
    source.line("  }");
    source.line("}");
    source.write(outputFolder);
  }

  private void emitGroups() throws IOException {
    for (Map.Entry<String, List<Field>> group : contract.groups().entrySet()) {
      JavaSource source = new JavaSource(group.getKey());
      String components =
          group.getValue().stream().map(OpsEmitter::declaration).collect(Collectors.joining(", "));
      source.line("/** Fields of ops that make up one value; handles are the client's numbers. */");
      source.line("public record %s(%s) {}", group.getKey(), components);
      source.write(outputFolder);
    }
  }

  private void emitTopics() throws IOException {
    Map<String, List<Op>> topics = contract.topics();
    JavaSource source = new JavaSource("SessionTopics");
    source.line(
        "/** Executors of a session's ops, one for each topic. The session's thread alone calls"
            + " them. */");
    source.line("public interface SessionTopics extends SessionServices {");
    for (String topic : topics.keySet()) {
      source.line("");
      source.line("  %s %s();", interfaceOf(topic), topic);
    }
    source.line("}");
    source.write(outputFolder);
    for (Map.Entry<String, List<Op>> topic : topics.entrySet()) {
      emitTopic(topic.getKey(), topic.getValue());
    }
  }

  private void emitTopic(String topic, List<Op> ops) throws IOException {
    JavaSource source = new JavaSource(interfaceOf(topic));
    source.line("/**");
    source.line(
        " * Executor of the ops of topic {@code %s}. Posted ops return their CUresult; fenced ones",
        topic);
    source.line(
        " * answer their tag, at once or later. Handles are the client's numbers; -1 is out of"
            + " range.");
    source.line(" * Buffers lie in the receive buffer and last as long as the call; the address");
    source.line(" * of a NULL buffer is 0. The session's thread alone calls it.");
    source.line(" */");
    source.line("public interface %s {", interfaceOf(topic));
    for (Op op : ops) {
      source.line("");
      source.line("  %s %s(%s);", op.fenced() ? "void" : "int", op.name(), declaration(op));
    }
    source.line("}");
    source.write(outputFolder);
  }

  private static String interfaceOf(String topic) {
    return topic.substring(0, 1).toUpperCase(Locale.ROOT) + topic.substring(1) + "Ops";
  }

  private static String declaration(Op op) {
    if (op.raw()) {
      return "long frame, int lengthBytes";
    }
    String fields =
        op.fields().stream()
            .filter(field -> field.member() == null || field.member().first())
            .map(OpsEmitter::declaration)
            .collect(Collectors.joining(", "));
    return !op.fenced() ? fields : fields.isEmpty() ? "int tag" : "int tag, " + fields;
  }

  private static String declaration(Field field) {
    Field.Member member = field.member();
    if (member != null) {
      return member.group() + " " + member.value();
    }
    String name = field.name();
    if (field.role() == Field.Role.OUT) {
      return field.type() == Field.Type.BYTES
          ? "long " + name + "CapacityBytes"
          : "boolean " + name + "Wanted";
    }
    return switch (field.type()) {
      case DATA, TEXT -> "long " + name + "Address, long " + name + "Bytes";
      case STRUCT -> "WireStruct " + name;
      case U64 -> "long " + name;
      case F32 -> "float " + name;
      default -> "int " + name;
    };
  }
}
