// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The opcodes of PTX and the checks made on every instruction when a module is loaded. */
final class InstructionSet {
  /** Least and greatest number of operands. */
  private record Arity(int min, int max) {}

  private static final Map<String, Arity> OPCODES = new HashMap<>();

  static {
    arity(0, 0, "brkpt", "exit", "griddepcontrol", "ret", "trap");
    arity(0, 3, "fence", "membar", "clusterlaunchcontrol");
    arity(1, 4, "mbarrier");
    arity(1, 1, "activemask", "bra", "nanosleep", "pmevent", "setmaxnreg", "stackrestore");
    arity(1, 1, "stacksave");
    arity(1, 2, "prefetch", "prefetchu", "discard", "applypriority");
    arity(0, 4, "bar", "barrier");
    arity(1, 4, "call");
    arity(2, 2, "abs", "bfind", "brev", "clz", "cnot", "cos", "cvta", "ex2", "isspacep", "istypep");
    arity(2, 2, "ldu", "lg2", "mov", "neg", "not", "popc", "rcp", "rsqrt", "sin", "sqrt", "tanh");
    arity(2, 2, "testp", "elect", "getctarank");
    arity(2, 3, "alloca", "brx", "ld", "mapa", "st", "vote", "redux");
    arity(2, 5, "cvt");
    arity(3, 3, "addc", "and", "bmsk", "copysign", "div", "match", "mul", "mul24");
    arity(3, 3, "or", "rem", "shl", "shr", "sub", "subc", "szext", "xor", "add");
    arity(3, 4, "max", "min", "set", "setp");
    arity(2, 4, "red");
    arity(3, 5, "atom");
    arity(4, 4, "bfe", "dp2a", "dp4a", "fma", "fns", "mad", "mad24", "madc", "prmt", "sad", "selp");
    arity(4, 4, "shf", "slct");
    arity(5, 5, "bfi", "shfl");
    arity(5, 6, "lop3");
    arity(0, 16, "cp", "createpolicy", "ldmatrix", "stmatrix", "movmatrix", "mma", "wmma");
    arity(0, 16, "multimem", "st", "suld", "suq", "sured", "sust", "tensormap", "tex", "tld4");
    arity(0, 16, "txq", "wgmma", "tcgen05");
    for (String video : List.of("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset")) {
      arity(3, 4, video, video + "2", video + "4");
    }
    arity(3, 4, "vshl", "vshr", "vavrg2", "vavrg4");
    arity(4, 4, "vmad");
  }

  /** Opcodes all of whose operands have the instruction's one type. */
  private static final Set<String> UNIFORM =
      Set.of(
          "abs",
          "add",
          "addc",
          "and",
          "cnot",
          "copysign",
          "div",
          "fma",
          "max",
          "min",
          "neg",
          "not",
          "or",
          "rem",
          "sub",
          "subc",
          "xor",
          "sqrt",
          "rcp",
          "rsqrt",
          "mov");

  private InstructionSet() {}

  private static void arity(int min, int max, String... opcodes) {
    for (String opcode : opcodes) {
      OPCODES.put(opcode, new Arity(min, max));
    }
  }

  static void check(Instruction instruction, Token where) throws PtxException {
    Arity arity = OPCODES.get(instruction.opcode());
    if (arity == null) {
      throw Tokens.error(
          where, "Not a name of any known instruction: '" + instruction.opcode() + "'");
    }
    int count = instruction.operands().size();
    if (count < arity.min || count > arity.max) {
      throw mismatch(instruction, where);
    }
    boolean labels =
        instruction.opcode().equals("bra")
            || instruction.opcode().equals("brx")
            || instruction.opcode().equals("call");
    for (Operand operand : instruction.operands()) {
      if (!labels && operand instanceof Operand.Target target) {
        throw Tokens.error(where, "Unknown symbol '" + target.label() + "'");
      }
    }
    if (instruction.opcode().equals("bra")
        && !(instruction.operands().get(0) instanceof Operand.Target)) {
      throw mismatch(instruction, where);
    }
    if (UNIFORM.contains(instruction.opcode())) {
      checkTypes(instruction, where);
    }
  }

  private static void checkTypes(Instruction instruction, Token where) throws PtxException {
    Type type = null;
    int types = 0;
    for (String modifier : instruction.modifiers()) {
      Type named = Type.named(modifier).orElse(null);
      if (named != null) {
        type = named;
        types++;
      }
    }
    if (type == null) {
      throw Tokens.error(
          where, "Missing type modifier for instruction '" + instruction.opcode() + "'");
    }
    if (types > 1) {
      return;
    }
    for (Operand operand : instruction.operands()) {
      if (operand instanceof Operand.Reg reg && !fits(reg.register().type(), type)) {
        throw mismatch(instruction, where);
      }
    }
  }

  private static boolean fits(Type register, Type type) {
    if (register.bits() != type.bits()) {
      return false;
    }
    boolean registerReal = register.isFloat();
    boolean registerWhole =
        register.kind() == Type.Kind.SIGNED || register.kind() == Type.Kind.UNSIGNED;
    boolean packed = type.isFloat() && type != Type.F32 && type != Type.F64;
    return !(registerReal && (type.isSigned() || type.kind() == Type.Kind.UNSIGNED))
        && !(registerWhole && type.isFloat() && !packed);
  }

  private static PtxException mismatch(Instruction instruction, Token where) {
    return Tokens.error(where, "Arguments mismatch for instruction '" + instruction.opcode() + "'");
  }
}
