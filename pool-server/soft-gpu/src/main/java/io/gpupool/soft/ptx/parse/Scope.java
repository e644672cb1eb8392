// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.ptx.Label;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Register;
import io.gpupool.soft.ptx.Type;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Names declared between two braces, or in a module. */
final class Scope {
  /** {@code .reg .type %name<count>}: registers made when first named. */
  private record Range(String prefix, long count, Type type) {}

  /** A label used before its definition was seen. */
  private record Pending(Label label, Token where) {}

  /** A vector register's elements. */
  record VectorRegister(List<Register> elements) {}

  private final @Nullable Scope parent;
  private final Map<String, Object> names = new HashMap<>();
  private final Map<String, Label> labels = new HashMap<>();
  private final Map<String, Pending> pending = new HashMap<>();
  private final List<Range> ranges = new ArrayList<>();

  Scope(@Nullable Scope parent) {
    this.parent = parent;
  }

  @Nullable Scope parent() {
    return parent;
  }

  void declare(Token name, Object meaning) throws PtxException {
    if (names.putIfAbsent(name.text(), meaning) != null) {
      throw new PtxException(
          name.line(), name.column(), "Duplicate definition of variable '" + name.text() + "'");
    }
  }

  /** Replaces a declaration by a later, fuller one. */
  void redeclare(String name, Object meaning) {
    names.put(name, meaning);
  }

  void declareRange(String prefix, long count, Type type) {
    ranges.add(new Range(prefix, count, type));
  }

  /** A Register, VectorRegister, Variable or Function, or null. */
  @Nullable Object find(String name) {
    for (Scope scope = this; scope != null; scope = scope.parent) {
      Object found = scope.findHere(name);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  @Nullable Object findHere(String name) {
    Object found = names.get(name);
    return found != null || ranges.isEmpty() ? found : fromRange(name);
  }

  private @Nullable Object fromRange(String name) {
    int digits = name.length();
    while (digits > 0 && Character.isDigit(name.charAt(digits - 1))) {
      digits--;
    }
    // The prefix itself may end in digits, so every split is tried.
    for (int split = digits; split < name.length(); split++) {
      if (name.charAt(split) == '0' && split + 1 < name.length() || name.length() - split > 9) {
        continue;
      }
      for (Range range : ranges) {
        if (range.prefix.length() == split
            && name.startsWith(range.prefix)
            && Integer.parseInt(name.substring(split)) < range.count) {
          Register register = new Register(name, range.type);
          names.put(name, register);
          return register;
        }
      }
    }
    return null;
  }

  Label defineLabel(Token name) throws PtxException {
    if (labels.containsKey(name.text())) {
      throw new PtxException(
          name.line(), name.column(), "Duplicate definition of label '" + name.text() + "'");
    }
    Pending waiting = pending.remove(name.text());
    Label label = waiting == null ? new Label(name.text()) : waiting.label;
    labels.put(name.text(), label);
    return label;
  }

  Label referToLabel(Token name) {
    for (Scope scope = this; scope != null; scope = scope.parent) {
      Label label = scope.labels.get(name.text());
      if (label != null) {
        return label;
      }
    }
    return pending.computeIfAbsent(name.text(), text -> new Pending(new Label(text), name)).label;
  }

  /** Hands labels that were not defined here to the scope around, which must define them. */
  void close(boolean outermost) throws PtxException {
    for (Pending waiting : pending.values()) {
      if (outermost) {
        throw new PtxException(
            waiting.where.line(),
            waiting.where.column(),
            "Unknown symbol '" + waiting.where.text() + "'");
      }
      waiting.label.define(requireNonNull(parent).referToLabel(waiting.where));
    }
  }
}
