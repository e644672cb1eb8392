// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import io.gpupool.soft.compile.arithmetic.FloatCode;
import io.gpupool.soft.compile.emit.AddressCode;
import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.access.Fragments;
import io.gpupool.soft.exec.matrix.Matrices;
import io.gpupool.soft.exec.matrix.MatrixShape;
import io.gpupool.soft.exec.matrix.MatrixType;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.constant.ClassDesc;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Emitter of a lane's share of tensor-core instructions: it lays down its part and takes its
 * results.
 */
final class MatrixCode {
  private static final ClassDesc FRAGMENTS = Code.desc(Fragments.class);

  private final Code code;
  private final CodeBuilder cb;
  private final AddressCode addresses;

  MatrixCode(Code code, AddressCode addresses) {
    this.code = code;
    this.addresses = addresses;
    cb = code.cb();
  }

  /** Number of the warp's operation. */
  static int operation(Op op) {
    return switch (op.opcode()) {
      case "ldmatrix" -> Matrices.load(count(op), op.has("trans"));
      case "stmatrix" -> Matrices.store(count(op), op.has("trans"));
      case "movmatrix" -> Matrices.transpose();
      default -> multiplication(op);
    };
  }

  private static int multiplication(Op op) {
    List<MatrixType> types = types(op);
    boolean wmma = op.opcode().equals("wmma");
    MatrixType accumulator = types.getLast();
    MatrixType sum = types.getFirst();
    // wmma does not name halves that are multiplied.
    MatrixType left = types.size() == 2 ? MatrixType.F16 : types.get(1);
    MatrixType right = types.size() == 2 ? MatrixType.F16 : types.get(2);
    int rounding = FloatCode.rounding(op);
    int operation =
        Matrices.multiply(shape(op), left, right, accumulator, sum, rounding, op.has("satfinite"));
    if (!wmma) {
      return operation;
    }
    List<String> layouts =
        op.modifiers().stream().filter(name -> name.equals("row") || name.equals("col")).toList();
    return Matrices.ofFragments(
        operation, layouts.getFirst().equals("col"), layouts.getLast().equals("col"));
  }

  private static int count(Op op) {
    return op.has("x4") ? 4 : op.has("x2") ? 2 : 1;
  }

  private static MatrixShape shape(Op op) {
    for (MatrixShape shape : MatrixShape.values()) {
      if (op.has(shape.name().toLowerCase(Locale.ROOT))) {
        return shape;
      }
    }
    throw new RefusedException(op.source(), "has a shape that is not supported");
  }

  private static List<MatrixType> types(Op op) {
    List<MatrixType> types = new ArrayList<>();
    for (String modifier : op.modifiers()) {
      for (MatrixType type : MatrixType.values()) {
        if (modifier.equals(type.name().toLowerCase(Locale.ROOT))) {
          types.add(type);
        }
      }
    }
    return types;
  }

  /** Lays down the registers that a lane brings. */
  void lay(Op op) {
    switch (op.opcode()) {
      case "ldmatrix" -> {}
      case "stmatrix" -> lay(op.args().get(1), Matrices.C);
      case "movmatrix" -> lay(op.args().get(0), Matrices.C);
      default -> {
        lay(op.args().get(0), Matrices.A);
        lay(op.args().get(1), Matrices.B);
        lay(op.args().get(2), Matrices.C);
      }
    }
  }

  private void lay(Value value, int part) {
    List<Value> values =
        value instanceof Value.Vector(List<Value> elements) ? elements : List.of(value);
    pushWords();
    for (int i = 0; i < values.size(); i++) {
      if (values.get(i) instanceof VReg register && register.type().bits() == 64) {
        pushWord(part + 2 * i);
        code.push(register, Type.B64);
        cb.l2i().iastore();
        pushWord(part + 2 * i + 1);
        code.push(register, Type.B64);
        cb.loadConstant(Integer.SIZE).lushr().l2i().iastore();
      } else {
        pushWord(part + i);
        code.push(values.get(i), Type.B32);
        cb.iastore();
      }
    }
    cb.pop2();
  }

  /** Pushes the array of all lanes' words and the place of the lane's first one. */
  private void pushWords() {
    code.pushBlock();
    code.pushThread();
    code.callBlock("matrixWords", "(I)[I");
    code.pushThread();
    cb.loadConstant(Matrices.LANE_WORDS).imul();
  }

  /** Pushes the array and a word's place, when {@link #pushWords} lies on the stack. */
  private void pushWord(int index) {
    cb.dup2().loadConstant(index).iadd();
  }

  /** Tells the row that a lane names, where the instruction takes one of it. */
  void tellRow(Op op) {
    if (!op.opcode().equals("ldmatrix") && !op.opcode().equals("stmatrix")) {
      return;
    }
    Label none = cb.newLabel();
    if (count(op) < 4) {
      code.pushThread();
      cb.loadConstant(LANE_MASK);
      cb.iand();
      cb.loadConstant(ROWS * count(op));
      cb.if_icmpge(none);
    }
    code.pushBlock();
    code.pushThread();
    addresses.push(op, op.args().getFirst(), op.space(), ROW_BYTES);
    code.callBlock("row", "(IJ)V");
    cb.labelBinding(none);
  }

  private static final int LANE_MASK = 31;
  private static final int ROWS = 8;
  private static final int ROW_BYTES = 16;

  /** Stores what a lane gets. */
  boolean take(Op op) {
    take(op.results(), Matrices.C);
    return true;
  }

  private void take(List<@Nullable VReg> results, int part) {
    pushWords();
    for (int i = 0; i < results.size(); i++) {
      VReg result = results.get(i);
      if (result == null) {
        continue;
      }
      if (result.type().bits() == 64) {
        code.pushBlock();
        code.pushThread();
        cb.loadConstant(part + 2 * i);
        code.callBlock("laidWide", "(II)J");
        code.pop(result, Type.B64);
      } else {
        pushWord(part + i);
        cb.iaload();
        code.pop(result, Type.B32);
      }
    }
    cb.pop2();
  }

  /** {@code wmma.load} and {@code wmma.store}: every lane moves its own elements. */
  boolean move(Op op) {
    boolean store = op.has("store");
    MatrixShape shape = shape(op);
    int part = op.has("a") ? Matrices.A : op.has("b") ? Matrices.B : Matrices.C;
    int rows = part == Matrices.B ? shape.k() : shape.m();
    int columns = part == Matrices.A ? shape.k() : shape.n();
    boolean byColumns = op.has("col");
    if (store) {
      lay(op.args().get(1), part);
    }
    if (!(op.args().getFirst() instanceof Value.Memory(Value base, long offset))) {
      throw new RefusedException(op.source(), "has no memory operand where one is needed");
    }
    boolean shared = op.space() == Space.SHARED;
    code.pushBlock();
    code.pushThread();
    cb.loadConstant(shared ? 1 : 0);
    if (base instanceof VReg register && register.type().bits() == 32) {
      code.push(base, Type.U32);
      code.widen(false);
      cb.loadConstant(offset);
      cb.ladd();
    } else {
      addresses.pushLong(base, offset);
    }
    int strideAt = store ? 2 : 1;
    if (op.args().size() > strideAt) {
      code.push(op.args().get(strideAt), Type.U32);
    } else {
      cb.loadConstant(byColumns ? rows : columns);
    }
    cb.loadConstant(types(op).getLast().ordinal());
    cb.loadConstant(part);
    cb.loadConstant(rows * columns);
    cb.loadConstant(byColumns ? rows : columns);
    cb.loadConstant(byColumns ? 1 : 0);
    cb.loadConstant(store ? 1 : 0);
    code.call(FRAGMENTS, "move", "(" + AddressCode.block() + "IZJIIIIIZZ)V");
    if (!store) {
      take(op.results(), part);
    }
    return true;
  }
}
