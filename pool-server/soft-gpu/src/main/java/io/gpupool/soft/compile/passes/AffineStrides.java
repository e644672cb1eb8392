// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.passes;

import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Type;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Strides of values from one thread to its neighbour in a row of a block, where they are known at
 * compile time. All of it is arithmetic modulo the width of the register; where 32 bits are widened
 * to 64, it holds only if the narrow value does not wrap within the row.
 */
public final class AffineStrides {
  private final Recipes recipes;
  private final Map<VReg, OptionalLong> known = new HashMap<>();

  public AffineStrides(Recipes recipes) {
    this.recipes = recipes;
  }

  /** A value's slope; empty if it has none or it is not known. */
  public OptionalLong of(Value value) {
    return switch (value) {
      case VReg register -> {
        OptionalLong slope = known.get(register);
        if (slope == null) {
          Recipes.Recipe recipe = recipes.of(register);
          slope = recipe == null ? OptionalLong.empty() : of(recipe.op());
          known.put(register, slope);
        }
        yield slope;
      }
      case Value.Int _, Value.Real _ -> OptionalLong.of(0);
      case Value.Special(String name) ->
          switch (name) {
            case "%tid.x" -> OptionalLong.of(1);
            case "%laneid" -> OptionalLong.empty();
            default -> OptionalLong.of(0);
          };
      case Value.Not _, Value.LocalAddress _, Value.Memory _, Value.Vector _ ->
          OptionalLong.empty();
    };
  }

  /** What an operation that widens 32 bits reads as such, where its slope is not 0. */
  public List<Value> widened(Op op) {
    return widens(op) ? op.args().stream().limit(2).filter(this::isSteep).toList() : List.of();
  }

  private boolean isSteep(Value value) {
    return of(value).orElse(0) != 0;
  }

  private static boolean widens(Op op) {
    return switch (op.opcode()) {
      case "mul", "mad" -> op.has("wide");
      case "cvt" -> op.types().get(0).bits() == 64 && op.types().get(1).bits() == 32;
      default -> false;
    };
  }

  private OptionalLong of(Op op) {
    if (op.opcode().equals("ld")) {
      return OptionalLong.of(0);
    }
    List<OptionalLong> slopes = op.args().stream().map(this::of).toList();
    if (slopes.stream().anyMatch(OptionalLong::isEmpty)) {
      return OptionalLong.empty();
    }
    if (slopes.stream().allMatch(slope -> slope.getAsLong() == 0)) {
      return OptionalLong.of(0);
    }
    if (op.has("sat") || op.types().stream().anyMatch(type -> type.isFloat() || type.bits() < 32)) {
      return OptionalLong.empty();
    }
    Type type = op.type();
    OptionalLong slope = steep(op, slopes.stream().map(OptionalLong::getAsLong).toList());
    boolean narrow = type.bits() == 32 && !op.has("wide");
    if (op.opcode().equals("cvt")) {
      narrow = op.types().get(0).bits() == 32 || op.types().get(1).bits() == 32;
    }
    return narrow && slope.isPresent() ? OptionalLong.of((int) slope.getAsLong()) : slope;
  }

  private static OptionalLong steep(Op op, List<Long> slopes) {
    return switch (op.opcode()) {
      case "mov", "cvta", "cvt" -> OptionalLong.of(slopes.getFirst());
      case "add" -> OptionalLong.of(slopes.get(0) + slopes.get(1));
      case "sub" -> OptionalLong.of(slopes.get(0) - slopes.get(1));
      case "neg" -> OptionalLong.of(-slopes.getFirst());
      case "mul" -> op.has("hi") ? OptionalLong.empty() : product(op, slopes);
      case "mad" -> {
        OptionalLong product = op.has("hi") ? OptionalLong.empty() : product(op, slopes);
        yield product.isPresent()
            ? OptionalLong.of(product.getAsLong() + slopes.get(2))
            : OptionalLong.empty();
      }
      case "shl" ->
          op.args().get(1) instanceof Value.Int(long bits) && bits >= 0 && bits < 32
              ? OptionalLong.of(slopes.getFirst() << bits)
              : OptionalLong.empty();
      default -> OptionalLong.empty();
    };
  }

  private static OptionalLong product(Op op, List<Long> slopes) {
    for (int i = 0; i < 2; i++) {
      if (slopes.get(i) == 0 && slopes.get(1 - i) == 0) {
        return OptionalLong.of(0);
      }
      // A negative number is a large one where numbers without sign are widened.
      if (op.args().get(i) instanceof Value.Int(long factor)
          && factor == (int) factor
          && (factor >= 0 || !op.has("wide") || op.type().isSigned())) {
        return OptionalLong.of(factor * slopes.get(1 - i));
      }
    }
    return OptionalLong.empty();
  }
}
