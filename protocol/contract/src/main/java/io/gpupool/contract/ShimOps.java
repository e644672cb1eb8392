// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A writer of {@code ops.h} and {@code ops.c}: the numbers of the ops, and for each op a function
 * that puts its frame into the send ring and, if it is fenced, waits for the answer and decodes it.
 * Layout: docs/design/call-stream.md, "The call stream".
 */
final class ShimOps {
  private static final int HEADER_SLOTS = 1;
  private static final int TAG_SLOTS = 1;

  private final Contract contract;

  ShimOps(Contract contract) {
    this.contract = contract;
  }

  void emit(Path outputFolder) throws IOException {
    CSource header = new CSource("ops.h");
    header.line("#include \"transport/marshal.h\"");
    header.line("");
    header.line("#define CONTRACT_DIGEST 0x%08xu", contract.digest());
    header.line("");
    header.line("enum {");
    for (Op op : contract.ops()) {
      header.line("  OP_%s = %d,", op.name(), op.number());
    }
    header.line("};");
    header.line("");
    CSource source = new CSource("ops.c");
    source.line("#include \"ops.h\"");
    for (Op op : contract.ops()) {
      if (!op.raw()) {
        header.line("CUresult op_%s(%s);", op.name(), parameters(op));
        emitEncoder(source, op);
      }
    }
    header.write(outputFolder);
    source.write(outputFolder);
  }

  private static String parameters(Op op) {
    List<String> list = new ArrayList<>();
    list.add("uint16_t ctx");
    boolean variable = false;
    for (Field field : op.fields()) {
      if (isInput(field)) {
        list.add("const void *" + field.name() + ", uint64_t " + field.name() + "Bytes");
      } else if (isVariable(field)) {
        list.add("struct variable *" + field.name());
        variable = true;
      } else {
        list.add(cType(field) + (isOutput(field) ? " *" : " ") + field.name());
      }
    }
    if (variable) {
      list.add("void **payload");
    }
    return String.join(", ", list);
  }

  /** The names of the parameters. */
  private static String arguments(Op op) {
    List<String> list = new ArrayList<>();
    list.add("ctx");
    for (Field field : op.fields()) {
      list.add(field.name());
      if (isInput(field)) {
        list.add(field.name() + "Bytes");
      }
    }
    if (op.fields().stream().anyMatch(ShimOps::isVariable)) {
      list.add("payload");
    }
    return String.join(", ", list);
  }

  private static boolean isOutput(Field field) {
    return field.role() == Field.Role.OUT;
  }

  private static boolean isInput(Field field) {
    return field.type().isInputBuffer();
  }

  private static boolean isVariable(Field field) {
    return isOutput(field) && field.type() == Field.Type.BYTES;
  }

  private static String cType(Field field) {
    return switch (field.type()) {
      case I32 -> "int32_t";
      case U64 -> "uint64_t";
      case F32 -> "float";
      default -> "uint32_t";
    };
  }

  private static void emitEncoder(CSource source, Op op) {
    List<Field> inputs = op.fields().stream().filter(ShimOps::isInput).toList();
    List<Field> outputs = op.fields().stream().filter(ShimOps::isOutput).toList();
    int slots = HEADER_SLOTS + (op.fenced() ? TAG_SLOTS : 0) + op.fields().size();
    source.line("");
    source.line("CUresult op_%s(%s) {", op.name(), parameters(op));
    String length = emitLength(source, inputs, slots);
    source.line("  struct connection *to = connection_of(ctx);");
    if (!op.fenced() && inputs.size() == 1) {
      emitBulk(source, op, slots, inputs.getFirst());
    }
    if (op.fenced()) {
      emitCall(source, outputs);
    }
    emitFrame(source, op, slots, length);
    if (op.fenced()) {
      emitReply(source, op, outputs);
    } else {
      source.line("  return ring_post(to);");
    }
    source.line("}");
  }

  /**
   * Writes the computation of a frame's length, where buffers make it vary.
   *
   * @return the length as an expression of C
   */
  private static String emitLength(CSource source, List<Field> inputs, int slots) {
    if (inputs.isEmpty()) {
      return Integer.toString(8 * slots);
    }
    source.line("  uint64_t length = %d;", 8 * slots);
    for (Field input : inputs) {
      source.line(
          "  if (!frame_grow(&length, %1$s, %1$sBytes)) return CUDA_ERROR_INVALID_VALUE;",
          input.name());
    }
    return "(uint32_t)length";
  }

  /** Writes the opening of a call, which has the answer's place. */
  private static void emitCall(CSource source, List<Field> outputs) {
    source.line("  struct call call = {0};");
    if (outputs.stream().anyMatch(ShimOps::isVariable)) {
      source.line("  *payload = NULL;");
      source.line("  call.take = true;");
    } else if (!outputs.isEmpty()) {
      source.line("  uint64_t reply[%d];", outputs.size());
      source.line("  call.reply = reply;");
      source.line("  call.replyCapacity = sizeof reply;");
    }
    source.line("  call_open(to, &call);");
  }

  /** Writes the frame: its header, the tag of a call, a slot for each field, then the buffers. */
  private static void emitFrame(CSource source, Op op, int slots, String length) {
    List<Field> inputs = op.fields().stream().filter(ShimOps::isInput).toList();
    source.line("  uint64_t *slot = ring_begin(to, %s);", length);
    source.line("  if (!slot) return %s;", op.fenced() ? "call_cancel(&call)" : "session_answer()");
    source.line("  slot[0] = FRAME(%s, OP_%s, ctx);", length, op.name());
    int next = HEADER_SLOTS;
    if (op.fenced()) {
      source.line("  slot[%d] = call.tag;", next++);
    }
    for (Field field : op.fields()) {
      source.line("  slot[%d] = %s;", next++, slotValue(field));
    }
    if (!inputs.isEmpty()) {
      source.line("  slot += %d;", slots);
      for (Field input : inputs) {
        source.line("  slot = frame_append(slot, %1$s, %1$sBytes);", input.name());
      }
    }
  }

  /** Writes the wait for the answer and its decoding. */
  private static void emitReply(CSource source, Op op, List<Field> outputs) {
    source.line("  CUresult result = call_wait(&call);");
    source.line(
        "  if (UNLIKELY(call_again(&call, &result))) return op_%s(%s);", op.name(), arguments(op));
    if (outputs.stream().anyMatch(ShimOps::isVariable)) {
      emitVariableReply(source, outputs);
    } else if (!outputs.isEmpty()) {
      emitFixedReply(source, outputs);
    }
    source.line("  return result;");
  }

  /** Writes the sending of big buffers, straight from where they lie. */
  private static void emitBulk(CSource source, Op op, int slots, Field input) {
    source.line("  if (%1$s && %1$sBytes > BULK_BYTES) {", input.name());
    List<String> values = new ArrayList<>();
    values.add("FRAME((uint32_t)length, OP_" + op.name() + ", ctx)");
    for (Field field : op.fields()) {
      values.add(slotValue(field));
    }
    source.line("    uint64_t head[%d] = {%s};", slots, String.join(", ", values));
    source.line("    return sender_bulk(to, head, sizeof head, %1$s, %1$sBytes);", input.name());
    source.line("  }");
  }

  private static String slotValue(Field field) {
    String name = field.name();
    if (isVariable(field)) {
      return name + "->capacity";
    }
    if (isOutput(field)) {
      return name + " != NULL";
    }
    return switch (field.type()) {
      case DATA, TEXT, STRUCT -> name + " ? " + name + "Bytes : UINT64_MAX";
      case I32 -> "(uint64_t)(int64_t)" + name;
      case F32 -> "frame_bits(" + name + ")";
      default -> name;
    };
  }

  private static void emitFixedReply(CSource source, List<Field> outputs) {
    source.line("  if (result == CUDA_SUCCESS) {");
    source.line("    uint32_t used = 0;");
    for (Field output : outputs) {
      source.line(
          "    if (%1$s) *%1$s = %2$s;",
          output.name(),
          output.type() == Field.Type.F32
              ? "frame_float(reply_slot(&call, reply, &used))"
              : "(" + cType(output) + ")reply_slot(&call, reply, &used)");
    }
    source.line("    if (call.shortReply) return session_malformed(\"a short answer\");");
    source.line("  }");
  }

  private static void emitVariableReply(CSource source, List<Field> outputs) {
    source.line("  uint32_t used = 0;");
    for (Field output : outputs) {
      if (isVariable(output)) {
        source.line("  reply_variable(&call, &used, %s);", output.name());
      } else {
        throw new IllegalArgumentException(output.name() + ": fixed beside variable outputs");
      }
    }
    source.line("  *payload = call.payload;");
  }
}
