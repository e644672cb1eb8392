// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.arithmetic;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.exec.arithmetic.VideoInstructions;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.util.List;

/** Emitter of video instructions, scalar and on two or four packed integers. */
public final class VideoCode {
  private static final List<String> OPERATIONS =
      List.of("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vavrg");
  private static final List<String> COMPARISONS = List.of("eq", "ne", "lt", "le", "gt", "ge");

  private final Code code;
  private final CodeBuilder cb;

  public VideoCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  public boolean emit(Op op) {
    if (op.types().size() < 2) {
      return false;
    }
    int width = op.opcode().charAt(op.opcode().length() - 1) - '0';
    if (width == 2 || width == 4) {
      lanes(op, width);
    } else if (op.opcode().equals("vmad")) {
      multiplyAdd(op);
    } else {
      scalar(op);
    }
    code.pop(op.results().get(0), Type.B32);
    return true;
  }

  /** A comparison has no type of its own for its result, which is unsigned. */
  private static boolean isSet(Op op) {
    return op.opcode().startsWith("vset");
  }

  private static boolean isSigned(Op op, int operand) {
    return op.types().get(isSet(op) ? operand : operand + 1).isSigned();
  }

  private static int operation(Op op) {
    if (isSet(op)) {
      for (String modifier : op.modifiers()) {
        if (COMPARISONS.contains(modifier)) {
          return VideoInstructions.SET + COMPARISONS.indexOf(modifier);
        }
      }
      throw new RefusedException(op.source(), "names no comparison");
    }
    int operation = OPERATIONS.indexOf(op.opcode().replaceAll("[24]$", ""));
    if (operation < 0) {
      throw new RefusedException(op.source(), "is not supported");
    }
    return operation;
  }

  private static int then(Op op) {
    if (op.has("add")) {
      return VideoInstructions.THEN_ADD;
    }
    if (op.has("min")) {
      return VideoInstructions.THEN_MIN;
    }
    return op.has("max") ? VideoInstructions.THEN_MAX : VideoInstructions.THEN_NOTHING;
  }

  private static String selector(Op op, int operand) {
    return op.source().operands().get(operand) instanceof Operand.Part(var _, String selector)
        ? selector
        : "";
  }

  private void scalar(Op op) {
    int operation = operation(op);
    pushPart(op, 0);
    pushPart(op, 1);
    if (operation == VideoInstructions.SHL || operation == VideoInstructions.SHR) {
      // The amount was pushed as a number that is not negative.
      cb.l2i();
      cb.loadConstant(op.has("wrap") ? 31 : 32);
      if (op.has("wrap")) {
        cb.iand();
      } else {
        code.call(Code.INTEGERS, "minUnsigned", "(II)I");
      }
      cb.i2l();
    }
    if (op.args().size() > 2) {
      code.push(op.args().get(2), Type.B32);
    } else {
      cb.iconst_0();
    }
    String to = selector(op, 0);
    int bits = bits(to);
    flag(operation);
    flag(!isSet(op) && op.types().get(0).isSigned());
    flag(op.has("sat"));
    flag(bits);
    flag(to.isEmpty() ? 0 : bits * (to.charAt(1) - '0'));
    flag(then(op));
    code.call(Code.VIDEOS, "scalar", "(JJIIZZIII)I");
  }

  private static int bits(String selector) {
    return selector.isEmpty() ? 32 : selector.charAt(0) == 'b' ? 8 : 16;
  }

  /** Pushes the selected part of an argument as a long. */
  private void pushPart(Op op, int index) {
    String selector = selector(op, index + 1);
    int bits = bits(selector);
    code.push(op.args().get(index), Type.B32);
    flag(selector.isEmpty() ? 0 : bits * (selector.charAt(1) - '0'));
    flag(bits);
    flag(isSigned(op, index));
    code.call(Code.VIDEOS, "part", "(IIIZ)J");
  }

  private void multiplyAdd(Op op) {
    if (op.args().size() < 3) {
      throw new RefusedException(op.source(), "has too few operands");
    }
    pushPart(op, 0);
    pushPart(op, 1);
    boolean signed = isSigned(op, 0) || isSigned(op, 1);
    code.push(op.args().get(2), Type.B32);
    code.widen(signed);
    flag(op.has("po"));
    flag(op.has("shr7") ? 7 : op.has("shr15") ? 15 : 0);
    flag(signed);
    flag(op.has("sat"));
    code.call(Code.VIDEOS, "multiplyAdd", "(JJJIIZZ)I");
  }

  private void lanes(Op op, int width) {
    if (op.args().size() < 3) {
      throw new RefusedException(op.source(), "has too few operands");
    }
    code.push(op.args().get(0), Type.B32);
    code.push(op.args().get(1), Type.B32);
    code.push(op.args().get(2), Type.B32);
    flag(elements(selector(op, 1), width, 0));
    flag(elements(selector(op, 2), width, width));
    flag(operation(op));
    flag(isSigned(op, 0));
    flag(isSigned(op, 1));
    flag(!isSet(op) && op.types().get(0).isSigned());
    flag(op.has("sat"));
    flag(32 / width);
    flag(mask(selector(op, 0), width));
    flag(then(op));
    code.call(Code.VIDEOS, "lanes", "(IIIIIIZZZZIII)I");
  }

  /** The element for each lane, 4 bits each; selectors name the highest lane's first. */
  private static int elements(String selector, int width, int first) {
    int elements = 0;
    for (int lane = 0; lane < width; lane++) {
      int element =
          selector.length() == width + 1 ? selector.charAt(width - lane) - '0' : first + lane;
      elements |= element << 4 * lane;
    }
    return elements;
  }

  private static int mask(String selector, int width) {
    int mask = 0;
    for (int i = 1; i < selector.length(); i++) {
      mask |= 1 << selector.charAt(i) - '0';
    }
    return mask == 0 ? (1 << width) - 1 : mask;
  }

  private void flag(int value) {
    cb.loadConstant(value);
  }

  private void flag(boolean value) {
    cb.loadConstant(value ? 1 : 0);
  }
}
