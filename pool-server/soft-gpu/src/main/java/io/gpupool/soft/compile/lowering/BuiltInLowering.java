// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.DeviceFunctions;
import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Function.Formal;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.RuntimeFunction;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.Variable;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Lowering of calls to functions that the device provides. */
final class BuiltInLowering {
  private final Lowering lowering;
  private final Graph graph;
  private final Operands operands;

  BuiltInLowering(Lowering lowering, Graph graph, Operands operands) {
    this.lowering = lowering;
    this.graph = graph;
    this.operands = operands;
  }

  void call(Instance caller, Instruction instruction, Function callee, CallParts parts) {
    if (!DeviceFunctions.isProvided(callee.name())) {
      throw new RefusedException(
          instruction, "calls " + callee.name() + ", which this device does not provide");
    }
    CallLowering.checkCount(instruction, callee.params(), parts.args());
    Optional<RuntimeFunction> runtime = RuntimeFunction.named(callee.name());
    if (runtime.isPresent()) {
      callRuntime(caller, instruction, callee, parts, runtime.get());
      return;
    }
    List<Value> args = new ArrayList<>();
    for (Operand operand : parts.args()) {
      args.add(whole(caller, instruction, operand));
    }
    if (callee.name().equals(DeviceFunctions.SET_CONDITION)) {
      // A condition's handle is its address.
      Value place = new Value.Memory(args.getFirst(), 0);
      lowering.append(
          new Op(
              instruction,
              "st",
              List.of("global", Type.B32.ptxName()),
              List.of(),
              List.of(place, args.get(1))));
      return;
    }
    append(caller, instruction, callee.name(), parts, args);
    if (callee.name().equals(DeviceFunctions.ASSERT_FAIL)) {
      lowering.current().end(new Terminator.Exit());
    }
  }

  private void append(
      Instance caller, Instruction instruction, String name, CallParts parts, List<Value> args) {
    List<@Nullable VReg> results = new ArrayList<>();
    for (Operand operand : parts.results()) {
      VReg piece = piece(caller, operand, 0);
      if (piece != null) {
        results.add(piece);
      } else {
        operands.result(caller, instruction, operand, results);
      }
    }
    lowering.append(new Op(instruction, "call", List.of(name), results, args));
  }

  private void callRuntime(
      Instance caller,
      Instruction instruction,
      Function callee,
      CallParts parts,
      RuntimeFunction function) {
    requireSignature(instruction, callee, function);
    if (function.method().equals(RuntimeFunction.SYNCHRONIZE)) {
      awaitLaunches(instruction);
    }
    List<Value> args = new ArrayList<>();
    for (int i = 0; i < parts.args().size(); i++) {
      char kind = function.params().charAt(i);
      Operand actual = parts.args().get(i);
      if (RuntimeFunction.pieces(kind) == 1) {
        args.add(whole(caller, instruction, actual));
      } else {
        addPieces(caller, instruction, actual, kind, args);
      }
    }
    append(caller, instruction, callee.name(), parts, args);
  }

  /** A declaration is the program's; what it says of sizes is checked before it is believed. */
  private static void requireSignature(
      Instruction instruction, Function callee, RuntimeFunction function) {
    boolean fits =
        callee.params().size() == function.params().length()
            && callee.results().size() == 1
            && sizeOf(callee.results().getFirst()) == RuntimeFunction.sizeBytes(function.result());
    for (int i = 0; fits && i < callee.params().size(); i++) {
      char kind = function.params().charAt(i);
      fits = sizeOf(callee.params().get(i)) == RuntimeFunction.sizeBytes(kind);
    }
    if (!fits) {
      throw new RefusedException(
          instruction, "declares " + callee.name() + " otherwise than CUDA does");
    }
  }

  private static long sizeOf(Formal formal) {
    return switch (formal) {
      case Formal.InMemory(Variable variable) -> variable.sizeBytes();
      case Formal.InRegister(var register) -> register.type().bytes();
    };
  }

  /** A loop that asks whether all is done, and lets others run. */
  private void awaitLaunches(Instruction instruction) {
    BasicBlock again = graph.newBlock();
    BasicBlock after = graph.newBlock();
    lowering.current().end(new Terminator.Goto(again));
    lowering.current(again);
    VReg done = graph.newRegister("done", Type.PRED);
    lowering.append(
        new Op(instruction, "call", List.of(Op.LAUNCHES_DONE), List.of(done), List.of()));
    again.end(new Terminator.Branch(done, false, after, again));
    lowering.current(after);
  }

  /** An argument that is one value. */
  private Value whole(Instance caller, Instruction instruction, Operand operand) {
    VReg piece = piece(caller, operand, 0);
    return piece != null ? piece : operands.value(caller, instruction, operand);
  }

  /** The integers of a structure that is passed by value. */
  private void addPieces(
      Instance caller, Instruction instruction, Operand operand, char kind, List<Value> to) {
    int width = RuntimeFunction.pieceBytes(kind);
    Type type = Type.bitsOfWidth(width);
    for (int i = 0; i < RuntimeFunction.pieces(kind); i++) {
      long offset = (long) i * width;
      VReg piece = piece(caller, operand, offset);
      if (piece == null) {
        piece = graph.newRegister("arg", type);
        lowering.append(load(caller, instruction, operand, offset, type, piece));
      }
      to.add(piece);
    }
  }

  private static Op load(
      Instance caller, Instruction instruction, Operand operand, long offset, Type type, VReg to) {
    if (operand instanceof Operand.Address(Variable variable, long _)
        && caller.placements().get(variable) instanceof Placement.InLocal(long address)) {
      return CallLowering.local(instruction, type, caller, address + offset, to, true);
    }
    throw new RefusedException(instruction, "passes a register for a structure");
  }

  private static @Nullable VReg piece(Instance caller, Operand operand, long offset) {
    return operand instanceof Operand.Address(Variable variable, long _)
            && caller.placements().get(variable) instanceof Placement.InRegisters registers
        ? registers.pieces().get(offset)
        : null;
  }
}
