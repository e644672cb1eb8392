// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.passes;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.JvmKind;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Type;
import org.jspecify.annotations.Nullable;

/**
 * Analysis that decides which registers declared as bits only ({@code .b32}, {@code .b64}) are held
 * as floating point: newer compilers declare all registers so.
 */
public final class RegisterKinds {
  private final int[] parent;
  private final int[] votes;

  private RegisterKinds(Graph graph) {
    parent = new int[graph.registers().size()];
    votes = new int[parent.length];
    for (int i = 0; i < parent.length; i++) {
      parent[i] = i;
    }
  }

  public static void decide(Graph graph) {
    RegisterKinds kinds = new RegisterKinds(graph);
    for (BasicBlock block : graph.order()) {
      block.ops().forEach(kinds::vote);
    }
    for (VReg register : graph.registers()) {
      if (isUntyped(register) && kinds.votes[kinds.find(register.id())] > 0) {
        register.kind(register.type().bits() == 64 ? JvmKind.DOUBLE : JvmKind.FLOAT);
      }
    }
  }

  private static boolean isUntyped(VReg register) {
    return register.type() == Type.B32 || register.type() == Type.B64;
  }

  private void vote(Op op) {
    switch (op.opcode()) {
      case "mov", "selp" -> {
        for (VReg result : op.results()) {
          for (VReg use : op.uses()) {
            join(result, use);
          }
          count(result, op.type());
        }
      }
      case "tex", "tld4" -> {
        op.results().forEach(result -> count(result, op.types().getFirst()));
        op.args().forEach(arg -> countValue(arg, op.type()));
      }
      case "take", "call" -> {}
      case "setp", "set" -> {
        Type type = op.type();
        op.uses().forEach(use -> count(use, type));
      }
      case "cvt" -> {
        if (op.types().size() == 2) {
          op.results().forEach(result -> count(result, op.types().get(0)));
          op.uses().forEach(use -> count(use, op.types().get(1)));
        }
      }
      case "ld", "ldu" -> op.results().forEach(result -> count(result, op.type()));
      case "st" -> {
        Type type = op.type();
        if (op.args().size() > 1) {
          countValue(op.args().get(1), type);
        }
      }
      default -> {
        if (!op.types().isEmpty()) {
          Type type = op.type();
          op.results().forEach(result -> count(result, type));
          op.args().forEach(arg -> countValue(arg, type));
        }
      }
    }
  }

  private void countValue(Value value, Type type) {
    switch (value) {
      case VReg register -> count(register, type);
      case Value.Vector vector -> vector.elements().forEach(element -> countValue(element, type));
      case Value.Memory(VReg base, long _) -> votes[find(base.id())] -= 2;
      case Value.Memory _,
          Value.Int _,
          Value.Real _,
          Value.Not _,
          Value.Special _,
          Value.LocalAddress _ -> {}
    }
  }

  private void count(@Nullable VReg register, Type type) {
    if (register == null) {
      return;
    }
    if (type == Type.F32 || type == Type.F64) {
      votes[find(register.id())]++;
    } else if (type.kind() != Type.Kind.BITS) {
      votes[find(register.id())]--;
    }
  }

  private void join(@Nullable VReg a, VReg b) {
    if (a == null || a.type().bits() != b.type().bits() || !isUntyped(a) || !isUntyped(b)) {
      return;
    }
    int left = find(a.id());
    int right = find(b.id());
    if (left != right) {
      parent[left] = right;
      votes[right] += votes[left];
    }
  }

  private int find(int id) {
    while (parent[id] != id) {
      parent[id] = parent[parent[id]];
      id = parent[id];
    }
    return id;
  }
}
