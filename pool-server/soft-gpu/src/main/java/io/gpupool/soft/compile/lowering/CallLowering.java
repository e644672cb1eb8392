// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.FrameLayout;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Function.Formal;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.Variable;
import io.gpupool.soft.ptx.module.PtxModule;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Lowering of calls. A function is copied into its caller, unless it may call itself, is called
 * through its address, or would make a large kernel larger still; then it is a routine with frames.
 */
final class CallLowering {
  /** Size of the graph from which on functions of some size are no longer copied. */
  private static final int LARGE_GRAPH = 20_000;

  private static final int LARGE_FUNCTION = 100;

  private final Lowering lowering;
  private final PtxModule module;
  private final Graph graph;
  private final Operands operands;
  private final ParamUses paramUses;
  private final Calls calls;
  private final BuiltInLowering builtIns;
  private final Map<Function, BasicBlock> entries = new HashMap<>();
  private final Deque<Function> open = new ArrayDeque<>();

  CallLowering(
      Lowering lowering, PtxModule module, Graph graph, Operands operands, ParamUses paramUses) {
    this.lowering = lowering;
    this.module = module;
    this.graph = graph;
    this.operands = operands;
    this.paramUses = paramUses;
    calls = new Calls(module);
    builtIns = new BuiltInLowering(lowering, graph, operands);
  }

  void call(Instance caller, Instruction instruction) {
    CallParts parts = CallParts.of(instruction);
    if (!(parts.target() instanceof Operand.FunctionAddress(String name))) {
      indirect(caller, instruction, parts);
      return;
    }
    Function callee = module.function(name).orElseThrow();
    if (!callee.defined()) {
      builtIns.call(caller, instruction, callee, parts);
    } else if (calls.isRecursive(callee)
        || graph.opCount() > LARGE_GRAPH && callee.body().size() > LARGE_FUNCTION) {
      Map<Long, BasicBlock> targets = Map.of(0L, entryOf(callee));
      invoke(caller, instruction, parts, callee, new Value.Int(0), targets);
    } else {
      inline(caller, instruction, parts, callee);
    }
  }

  // Inlining.

  private void inline(Instance caller, Instruction instruction, CallParts parts, Function callee) {
    long localBefore = lowering.localTop();
    BasicBlock after = graph.newBlock();
    Instance instance = Instance.inlined(graph, callee, caller, after);
    bind(caller, instance, instruction, callee.params(), parts.args(), true);
    bind(caller, instance, instruction, callee.results(), parts.results(), false);
    VReg stackBefore = callee.uses("alloca") ? graph.newRegister("SP", Type.B64) : null;
    if (stackBefore != null) {
      lowering.move(instruction, Type.B64, stackBefore, operands.stackTop());
    }
    lowering.body(instance);
    lowering.localTop(localBefore);
    lowering.current(after);
    if (stackBefore != null) {
      lowering.move(instruction, Type.B64, operands.stackTop(), stackBefore);
    }
    for (int i = 0; i < parts.results().size(); i++) {
      takeResult(caller, instance, instruction, callee.results().get(i), parts.results().get(i));
    }
  }

  private void bind(
      Instance caller,
      Instance instance,
      Instruction call,
      List<Formal> formals,
      List<Operand> actuals,
      boolean arguments) {
    checkCount(call, formals, actuals);
    for (int i = 0; i < formals.size(); i++) {
      switch (formals.get(i)) {
        case Formal.InMemory(Variable formal) -> {
          if (actuals.get(i) instanceof Operand.Address(Variable actual, long _)
              && caller.placements().containsKey(actual)) {
            checkSize(call, formal.sizeBytes(), actual);
            instance.placements().put(formal, caller.placements().get(actual));
          } else {
            bindValue(caller, instance, call, formal, arguments ? actuals.get(i) : null);
          }
        }
        case Formal.InRegister(var register) -> {
          if (arguments) {
            VReg to = instance.register(register);
            Value from = operands.value(caller, call, actuals.get(i));
            lowering.move(call, register.type(), to, from);
          }
        }
      }
    }
  }

  static void checkCount(Instruction call, List<Formal> formals, List<Operand> actuals) {
    if (formals.size() != actuals.size()) {
      throw new RefusedException(call, "does not match the parameters of the function");
    }
  }

  private static void checkSize(Instruction call, long formalBytes, Variable actual) {
    if (formalBytes != actual.sizeBytes()) {
      throw new RefusedException(
          call,
          "passes %s of %d bytes where the function has a parameter of %d"
              .formatted(actual.name(), actual.sizeBytes(), formalBytes));
    }
  }

  /** A formal in parameter space whose actual is a register or constant. */
  private void bindValue(
      Instance caller,
      Instance instance,
      Instruction call,
      Variable formal,
      @Nullable Operand actual) {
    if (formal.sizeBytes() > 8) {
      throw new RefusedException(call, "passes a register for an array");
    }
    Type type = Type.bitsOfWidth((int) formal.sizeBytes());
    VReg piece = graph.newRegister(formal.name(), type);
    instance.placements().put(formal, new Placement.InRegisters(Map.of(0L, piece)));
    if (actual != null) {
      lowering.move(call, type, piece, operands.value(caller, call, actual));
    }
  }

  private void takeResult(
      Instance caller, Instance instance, Instruction call, Formal formal, Operand actual) {
    VReg from =
        switch (formal) {
          case Formal.InRegister(var register) -> instance.register(register);
          case Formal.InMemory(Variable variable) ->
              instance.placements().get(variable) instanceof Placement.InRegisters registers
                  ? registers.pieces().get(0L)
                  : null;
        };
    if (actual instanceof Operand.Reg(var register) && from != null) {
      lowering.move(call, register.type(), caller.register(register), from);
    }
  }

  // Calls proper.

  private void indirect(Instance caller, Instruction instruction, CallParts parts) {
    Optional<Function> prototype =
        instruction.operands().getLast() instanceof Operand.Target(var label)
            ? label.prototype()
            : Optional.empty();
    Value address = operands.value(caller, instruction, parts.target());
    if (prototype.isEmpty() || !(address instanceof VReg)) {
      throw new RefusedException(instruction, "needs a register and a .callprototype");
    }
    Map<Long, BasicBlock> targets = new LinkedHashMap<>();
    for (Function callee : calls.addressTaken()) {
      if (!callee.entry()
          && callee.params().size() == prototype.get().params().size()
          && callee.results().size() == prototype.get().results().size()) {
        targets.put(module.functionAddress(callee.name()).orElseThrow(), entryOf(callee));
      }
    }
    invoke(caller, instruction, parts, prototype.get(), address, targets);
  }

  /** The first block of a function that is called; its body is added later. */
  private BasicBlock entryOf(Function callee) {
    return entries.computeIfAbsent(
        callee,
        function -> {
          BasicBlock first = graph.newBlock();
          graph.addRoutine(first);
          graph.needPassed(FrameLayout.of(function));
          open.add(function);
          return first;
        });
  }

  private void invoke(
      Instance caller,
      Instruction instruction,
      CallParts parts,
      Function signature,
      Value address,
      Map<Long, BasicBlock> targets) {
    FrameLayout layout = FrameLayout.of(signature);
    graph.needPassed(layout);
    checkCount(instruction, signature.params(), parts.args());
    checkCount(instruction, signature.results(), parts.results());
    checkSizes(caller, instruction, signature.params(), parts.args());
    checkSizes(caller, instruction, signature.results(), parts.results());
    for (int i = 0; i < parts.args().size(); i++) {
      Formal formal = signature.params().get(i);
      pass(caller, instruction, formal, parts.args().get(i), layout.params().get(i));
    }
    BasicBlock next = graph.newBlock();
    lowering.current().end(new Terminator.Call(instruction, address, targets, next));
    lowering.current(next);
    for (int i = 0; i < parts.results().size(); i++) {
      receive(caller, instruction, parts.results().get(i), layout.results().get(i));
    }
  }

  private static void checkSizes(
      Instance caller, Instruction call, List<Formal> formals, List<Operand> actuals) {
    for (int i = 0; i < formals.size(); i++) {
      if (actuals.get(i) instanceof Operand.Address(Variable actual, long _)
          && caller.placements().containsKey(actual)) {
        checkSize(call, sizeOf(formals.get(i)), actual);
      }
    }
  }

  private static int sizeOf(Formal formal) {
    return switch (formal) {
      case Formal.InMemory(Variable variable) -> (int) variable.sizeBytes();
      case Formal.InRegister(var register) -> register.type().bytes();
    };
  }

  private void pass(Instance caller, Instruction call, Formal formal, Operand actual, int offset) {
    Placement placement =
        actual instanceof Operand.Address(Variable variable, long _)
            ? caller.placements().get(variable)
            : null;
    switch (placement) {
      case Placement.InRegisters registers ->
          registers
              .pieces()
              .forEach((at, piece) ->
                  lowering.append(FrameOps.put(call, piece.type(), offset + at, piece, true)));
      case Placement.InLocal local ->
          forEachPiece(
              sizeOf(formal),
              (at, type) -> {
                VReg temporary = graph.newRegister("arg", type);
                lowering.append(local(call, type, caller, local.address() + at, temporary, true));
                lowering.append(FrameOps.put(call, type, offset + at, temporary, true));
              });
      case null, default -> {
        Type type = Type.bitsOfWidth(sizeOf(formal));
        Value value = operands.value(caller, call, actual);
        lowering.append(FrameOps.put(call, type, offset, value, true));
      }
    }
  }

  private void receive(Instance caller, Instruction call, Operand actual, int offset) {
    if (actual instanceof Operand.Reg(var register)) {
      VReg to = caller.register(register);
      lowering.append(FrameOps.get(call, register.type(), to, offset, true));
      return;
    }
    if (!(actual instanceof Operand.Address(Variable variable, long _))) {
      return;
    }
    switch (caller.placements().get(variable)) {
      case Placement.InRegisters registers ->
          registers
              .pieces()
              .forEach((at, piece) ->
                  lowering.append(FrameOps.get(call, piece.type(), piece, offset + at, true)));
      case Placement.InLocal local ->
          forEachPiece(
              (int) variable.sizeBytes(),
              (at, type) -> {
                VReg temporary = graph.newRegister("result", type);
                lowering.append(FrameOps.get(call, type, temporary, offset + at, true));
                lowering.append(local(call, type, caller, local.address() + at, temporary, false));
              });
      case null, default -> throw new RefusedException(call, "returns to where it cannot");
    }
  }

  private interface PieceAction {
    void accept(int offset, Type type);
  }

  /** Cuts a length into pieces of eight bytes and smaller ones at the end. */
  private static void forEachPiece(int bytes, PieceAction action) {
    int at = 0;
    for (int width = 8; width > 0; width /= 2) {
      for (; bytes - at >= width; at += width) {
        action.accept(at, Type.bitsOfWidth(width));
      }
    }
  }

  /** A load of local memory into a register, or a store of it. */
  static Op local(
      Instruction source, Type type, Instance instance, long address, VReg register, boolean load) {
    Value memory = new Value.Memory(Operands.localAddress(instance, address), 0);
    List<String> modifiers = List.of("local", type.ptxName());
    return load
        ? new Op(source, "ld", modifiers, List.of(register), List.of(memory))
        : new Op(source, "st", modifiers, List.of(), List.of(memory, register));
  }

  // Bodies of the functions that are called.

  /** Adds the bodies of all functions that are called, and of those that they call. */
  void routines() {
    while (!open.isEmpty()) {
      Function function = open.remove();
      lowering.current(requireNonNull(entries.get(function)));
      lowering.beginLocal(Instance.synthetic(function));
      Instance instance = Instance.routine(graph, function);
      enter(instance);
      lowering.body(instance);
    }
  }

  private void enter(Instance instance) {
    Function function = instance.function();
    FrameLayout layout = FrameLayout.of(function);
    Map<Variable, ParamUse> uses = paramUses.ofFormals(function);
    Instruction source = Instance.synthetic(function);
    for (int i = 0; i < function.params().size(); i++) {
      int offset = layout.params().get(i);
      switch (function.params().get(i)) {
        case Formal.InRegister(var register) ->
            lowering.append(
                FrameOps.get(source, register.type(), instance.register(register), offset, false));
        case Formal.InMemory(Variable variable) -> {
          if (requireNonNull(uses.get(variable)).needsMemory()) {
            Placement.InLocal local = (Placement.InLocal) lowering.local(variable);
            instance.placements().put(variable, local);
            forEachPiece(
                (int) variable.sizeBytes(),
                (at, type) -> {
                  VReg temporary = graph.newRegister("param", type);
                  lowering.append(FrameOps.get(source, type, temporary, offset + at, false));
                  lowering.append(
                      local(source, type, instance, local.address() + at, temporary, false));
                });
          } else {
            instance.placements().put(variable, new Placement.InFrame(offset));
          }
        }
      }
    }
    for (int i = 0; i < function.results().size(); i++) {
      if (function.results().get(i) instanceof Formal.InMemory(Variable variable)) {
        instance.placements().put(variable, new Placement.InFrame(layout.results().get(i)));
      }
    }
  }

  /** Ends a function that was called. */
  void leave(Instance instance) {
    Function function = instance.function();
    FrameLayout layout = FrameLayout.of(function);
    for (int i = 0; i < function.results().size(); i++) {
      if (function.results().get(i) instanceof Formal.InRegister(var register)) {
        lowering.append(
            FrameOps.put(
                Instance.synthetic(function),
                register.type(),
                layout.results().get(i),
                instance.register(register),
                false));
      }
    }
    lowering.current().end(new Terminator.Return());
  }
}
