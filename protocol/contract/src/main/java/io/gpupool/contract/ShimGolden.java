// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A writer of {@code golden_calls.inc}: a call of each op's encoder with known arguments, for the
 * test that compares its frame with the golden one. A field's argument follows from its place. Ops
 * whose layout is by hand are named, and the test encodes them.
 */
final class ShimGolden {
  private final Contract contract;

  ShimGolden(Contract contract) {
    this.contract = contract;
  }

  void emit(Path outputFolder) throws IOException {
    CSource source = new CSource("golden_calls.inc");
    for (Op op : contract.ops()) {
      if (op.raw()) {
        source.line("GOLDEN_RAW(%s)", op.name());
      } else {
        source.line("GOLDEN(%d, %s, (%s))", op.fenced() ? 1 : 0, op.name(), arguments(op));
      }
    }
    source.write(outputFolder);
  }

  private static String arguments(Op op) {
    List<String> arguments = new ArrayList<>();
    arguments.add("1");
    boolean variable = false;
    for (int i = 0; i < op.fields().size(); i++) {
      Field field = op.fields().get(i);
      boolean output = field.role() == Field.Role.OUT;
      variable |= output && field.type() == Field.Type.BYTES;
      arguments.add(output ? output(field, i) : input(field, i));
    }
    if (variable) {
      arguments.add("&goldenPayload");
    }
    return String.join(", ", arguments);
  }

  private static String output(Field field, int index) {
    return field.type() == Field.Type.BYTES
        ? "&goldenVariables[" + index + "]"
        : "(void *)&goldenOutputs[" + index + "]";
  }

  private static String input(Field field, int index) {
    return switch (field.type()) {
      case DATA, TEXT, STRUCT -> "GOLDEN_TEXT, " + (3 + index);
      case U32 -> "0x01020300u + " + index;
      case I32 -> "-" + (1 + index);
      case U64 -> "0x0102030405060700ull + " + index;
      case F32 -> index + ".5f";
      default -> Integer.toString(16 + index);
    };
  }
}
