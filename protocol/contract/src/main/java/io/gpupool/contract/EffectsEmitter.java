// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** A writer of the table of what lasts of each op. */
final class EffectsEmitter {
  private static final int SLOT_BYTES = 8;

  private final Contract contract;
  private final Path outputFolder;

  EffectsEmitter(Contract contract, Path outputFolder) {
    this.contract = contract;
    this.outputFolder = outputFolder;
  }

  void emit() throws IOException {
    JavaSource source = new JavaSource("OpEffects");
    source.line("/** What lasts of ops in a session, by the number of the op. */");
    source.line("public final class OpEffects {");
    source.line("  private static final OpEffect[] BY_OP = new OpEffect[Ops.LAST + 1];");
    source.line("");
    source.line("  static {");
    for (Op op : contract.ops()) {
      Effect effect = op.effect();
      if (effect != null) {
        emit(source, op, effect);
      }
    }
    source.line("  }");
    source.line("");
    source.line("  private OpEffects() {}");
    source.line("");
    source.line("  /** Returns the effect of an op; null: it has none, or does not exist. */");
    source.line("  public static @org.jspecify.annotations.Nullable OpEffect of(int op) {");
    source.line("    return op > 0 && op <= Ops.LAST ? BY_OP[op] : null;");
    source.line("  }");
    source.line("}");
    source.write(outputFolder);
  }

  private static void emit(JavaSource source, Op op, Effect effect) {
    String things =
        effect.things().stream().map(thing -> thing(op, thing)).collect(Collectors.joining(", "));
    source.line(
        "    BY_OP[Ops.%s] = new OpEffect(OpEffect.Verb.%s, java.util.List.of(%s), %s, %s);",
        op.name(),
        effect.verb(),
        things,
        effect.owner() == null ? "null" : thing(op, effect.owner()),
        effect.fixed() == null ? "null" : "\"" + effect.fixed() + "\"");
  }

  private static String thing(Op op, Effect.Thing thing) {
    String places =
        thing.fields().stream()
            .map(name -> Integer.toString(place(op, name)))
            .collect(Collectors.joining(", "));
    return "new OpEffect.Thing(\"" + thing.kind() + "\", new int[] {" + places + "})";
  }

  /** Returns where a value is: an offset in the frame, or that in the answer, inverted. */
  private static int place(Op op, String name) {
    int outputs = 0;
    List<Field> fields = op.fields();
    for (int i = 0; i < fields.size(); i++) {
      Field field = fields.get(i);
      boolean output = field.role() == Field.Role.OUT;
      if (field.name().equals(name)) {
        return output ? ~(SLOT_BYTES * outputs) : op.firstSlot() + SLOT_BYTES * i;
      }
      outputs += output ? 1 : 0;
    }
    throw new IllegalArgumentException(op.name() + " has no field " + name);
  }
}
