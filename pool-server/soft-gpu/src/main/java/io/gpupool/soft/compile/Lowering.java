// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Function.Formal;
import io.gpupool.soft.ptx.Label;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.PtxModule;
import io.gpupool.soft.ptx.SharedLayout;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Statement.Guard;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.Variable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** Builds the control-flow graph of a kernel, inlining the functions it calls. */
final class Lowering {
  /** Instructions without a result in first place. */
  private static final Set<String> NO_RESULT =
      Set.of(
          "st",
          "red",
          "prefetch",
          "prefetchu",
          "nanosleep",
          "membar",
          "fence",
          "cp",
          "pmevent",
          "brkpt",
          "trap",
          "discard",
          "applypriority",
          "griddepcontrol",
          "setmaxnreg",
          "mbarrier");

  /** Functions that the driver provides. */
  private static final Set<String> BUILT_IN = Set.of("vprintf", "__assertfail", "__assert_fail");

  private final PtxModule module;
  private final Map<String, Long> globalAddresses;
  private final SharedLayout shared;
  private final Graph graph = new Graph();
  private final Deque<Function> active = new ArrayDeque<>();
  private VReg carry;
  private BasicBlock current = graph.entry();
  private long localTop;

  private Lowering(PtxModule module, Map<String, Long> globalAddresses, SharedLayout shared) {
    this.module = module;
    this.globalAddresses = globalAddresses;
    this.shared = shared;
  }

  static Graph lower(
      PtxModule module, Function kernel, Map<String, Long> globalAddresses, SharedLayout shared) {
    Lowering lowering = new Lowering(module, globalAddresses, shared);
    lowering.kernel(kernel);
    lowering.graph.arrange();
    return lowering.graph;
  }

  private void kernel(Function kernel) {
    Instance instance = new Instance(graph, kernel, null);
    long offset = 0;
    for (Formal formal : kernel.params()) {
      if (formal instanceof Formal.InMemory(Variable variable)) {
        offset = align(offset, variable.alignBytes());
        instance.placements().put(variable, new Placement.InParams(offset));
        offset += variable.sizeBytes();
      }
    }
    body(instance);
  }

  private void body(Instance instance) {
    Function function = instance.function();
    if (active.contains(function)) {
      throw new RefusedException(
          "function " + function.name() + " calls itself, which is not supported");
    }
    active.push(function);
    placeLocals(instance);
    for (Statement statement : function.body()) {
      switch (statement) {
        case Statement.Mark mark -> {
          BasicBlock block = instance.block(mark.label());
          if (!current.ended()) {
            current.end(new Terminator.Goto(block));
          }
          current = block;
        }
        case Instruction instruction -> guarded(instance, instruction);
      }
    }
    if (!current.ended()) {
      leave(instance);
    }
    active.pop();
  }

  private void leave(Instance instance) {
    current.end(
        instance.afterReturn() == null
            ? new Terminator.Exit()
            : new Terminator.Goto(instance.afterReturn()));
  }

  private void placeLocals(Instance instance) {
    Function function = instance.function();
    Map<Variable, ParamUse> uses = paramUses(function, true);
    for (Variable variable : function.locals()) {
      switch (variable.space()) {
        case LOCAL -> instance.placements().put(variable, local(variable));
        case SHARED ->
            instance
                .placements()
                .put(variable, new Placement.InShared(shared.offsets().get(variable)));
        case PARAM -> instance.placements().put(variable, place(variable, uses.get(variable)));
        case GENERIC, GLOBAL, CONST -> {}
      }
    }
  }

  private Placement place(Variable variable, ParamUse use) {
    if (use.needsMemory()) {
      return local(variable);
    }
    Map<Long, VReg> pieces = new TreeMap<>();
    use.pieces()
        .forEach((offset, width) ->
            pieces.put(
                offset, graph.newRegister(variable.name() + "+" + offset, bitsOfWidth(width))));
    return new Placement.InRegisters(pieces);
  }

  private static Type bitsOfWidth(int bytes) {
    return switch (bytes) {
      case 1 -> Type.B8;
      case 2 -> Type.B16;
      case 4 -> Type.B32;
      default -> Type.B64;
    };
  }

  private Placement local(Variable variable) {
    localTop = align(localTop, Math.max(variable.alignBytes(), 1));
    long address = localTop;
    localTop += variable.sizeBytes();
    if (localTop > MAX_LOCAL_BYTES) {
      throw new RefusedException("more than " + MAX_LOCAL_BYTES + " bytes of local memory");
    }
    graph.needLocal((int) localTop);
    return new Placement.InLocal(address);
  }

  private static final long MAX_LOCAL_BYTES = 512 << 10;

  private static long align(long offset, int align) {
    return -(-offset & -(long) align);
  }

  /**
   * Uses of the parameter-space variables of a function by itself and by those it passes them to.
   *
   * @param locals of the variables that its body declares, else of its formal parameters
   */
  private Map<Variable, ParamUse> paramUses(Function function, boolean locals) {
    Map<Variable, ParamUse> uses = new HashMap<>();
    if (locals) {
      function.locals().stream()
          .filter(variable -> variable.space() == Space.PARAM)
          .forEach(variable -> uses.put(variable, new ParamUse()));
    } else {
      formals(function).forEach(variable -> uses.put(variable, new ParamUse()));
    }
    if (uses.isEmpty()) {
      return uses;
    }
    for (Statement statement : function.body()) {
      if (statement instanceof Instruction instruction) {
        if (instruction.opcode().equals("call")) {
          callUses(instruction, uses);
        } else {
          ParamUse.collect(instruction, uses);
        }
      }
    }
    return uses;
  }

  private static List<Variable> formals(Function function) {
    List<Variable> variables = new ArrayList<>();
    List<Formal> formals = new ArrayList<>(function.params());
    formals.addAll(function.results());
    for (Formal formal : formals) {
      if (formal instanceof Formal.InMemory(Variable variable)) {
        variables.add(variable);
      }
    }
    return variables;
  }

  private void callUses(Instruction call, Map<Variable, ParamUse> uses) {
    CallParts parts = CallParts.of(call);
    if (!(parts.target() instanceof Operand.FunctionAddress(String name))) {
      return;
    }
    Optional<Function> callee = module.function(name);
    if (callee.isEmpty()) {
      return;
    }
    Map<Variable, ParamUse> calleeUses = null;
    for (boolean isResult : new boolean[] {false, true}) {
      List<Operand> actuals = isResult ? parts.results() : parts.args();
      List<Formal> formals = isResult ? callee.get().results() : callee.get().params();
      for (int i = 0; i < Math.min(actuals.size(), formals.size()); i++) {
        if (actuals.get(i) instanceof Operand.Address(Variable variable, long _)
            && uses.containsKey(variable)
            && formals.get(i) instanceof Formal.InMemory(Variable formal)) {
          if (!callee.get().defined()) {
            uses.get(variable).add(0, (int) Math.min(8, formal.sizeBytes()));
            continue;
          }
          if (calleeUses == null) {
            calleeUses = paramUses(callee.get(), false);
          }
          uses.get(variable).addAll(calleeUses.get(formal));
        }
      }
    }
  }

  private void guarded(Instance instance, Instruction instruction) {
    if (current.ended()) {
      current = graph.newBlock();
    }
    if (instruction.guard().isEmpty()) {
      lower(instance, instruction);
      return;
    }
    Guard guard = instruction.guard().get();
    VReg predicate = instance.register(guard.predicate());
    BasicBlock after = graph.newBlock();
    if (instruction.opcode().equals("bra")) {
      BasicBlock target = instance.block(label(instruction, instruction.operands().get(0)));
      current.end(new Terminator.Branch(predicate, guard.negated(), target, after));
    } else {
      BasicBlock then = graph.newBlock();
      current.end(new Terminator.Branch(predicate, guard.negated(), then, after));
      current = then;
      lower(instance, instruction);
      if (!current.ended()) {
        current.end(new Terminator.Goto(after));
      }
    }
    current = after;
  }

  private void lower(Instance instance, Instruction instruction) {
    switch (instruction.opcode()) {
      case "bra" ->
          current.end(
              new Terminator.Goto(
                  instance.block(label(instruction, instruction.operands().get(0)))));
      case "brx" -> select(instance, instruction);
      case "ret" -> leave(instance);
      case "exit" -> current.end(new Terminator.Exit());
      case "call" -> call(instance, instruction);
      case "trap", "brkpt" -> {
        graph.append(current, operation(instance, instruction));
        if (instruction.opcode().equals("trap")) {
          current.end(new Terminator.Exit());
        }
      }
      default -> {
        if (Waits.isWait(instruction)) {
          await(operation(instance, instruction));
        } else if (isParamAccess(instance, instruction)) {
          paramAccess(instance, instruction);
        } else {
          graph.append(current, operation(instance, instruction));
        }
      }
    }
  }

  private static Label label(Instruction instruction, Operand operand) {
    if (operand instanceof Operand.Target(Label label) && label.targets().isEmpty()) {
      return label;
    }
    throw new RefusedException(instruction, "does not name a label");
  }

  private void select(Instance instance, Instruction instruction) {
    if (instruction.operands().size() == 2
        && instruction.operands().get(1) instanceof Operand.Target(Label list)
        && !list.targets().isEmpty()
        && value(instance, instruction, instruction.operands().get(0)) instanceof VReg index) {
      List<BasicBlock> targets = list.targets().stream().map(instance::block).toList();
      current.end(new Terminator.Select(index, targets));
      return;
    }
    throw new RefusedException(instruction, "needs a register and a .branchtargets list");
  }

  /** Ends the block with a wait; the results are taken in the block that follows. */
  private void await(Op op) {
    BasicBlock next = graph.newBlock();
    current.end(
        new Terminator.Wait(
            new Op(op.source(), op.opcode(), op.modifiers(), List.of(), op.args()), next));
    current = next;
    if (!op.results().isEmpty()) {
      graph.append(current, new Op(op.source(), "take", op.modifiers(), op.results(), List.of()));
    }
  }

  private Op operation(Instance instance, Instruction instruction) {
    List<VReg> results = new ArrayList<>();
    List<Value> args = new ArrayList<>();
    List<Operand> operands = instruction.operands();
    int first = 0;
    boolean barrier = instruction.opcode().equals("bar") || instruction.opcode().equals("barrier");
    boolean hasResult =
        barrier ? instruction.has("red") : !NO_RESULT.contains(instruction.opcode());
    if (hasResult && !operands.isEmpty()) {
      result(instance, instruction, operands.get(0), results);
      first = 1;
    }
    for (Operand operand : operands.subList(first, operands.size())) {
      args.add(value(instance, instruction, operand));
    }
    addCarry(instruction, results, args);
    return new Op(instruction, instruction.opcode(), instruction.modifiers(), results, args);
  }

  /** The condition code is a register that {@code .cc} writes and {@code addc} and kin read. */
  private void addCarry(Instruction instruction, List<VReg> results, List<Value> args) {
    boolean reads = Set.of("addc", "subc", "madc").contains(instruction.opcode());
    boolean writes = instruction.has("cc");
    if ((reads || writes) && carry == null) {
      carry = graph.newRegister("CC", Type.PRED);
    }
    if (reads) {
      args.add(carry);
    }
    if (writes) {
      results.add(carry);
    }
  }

  private void result(
      Instance instance, Instruction instruction, Operand operand, List<VReg> results) {
    switch (operand) {
      case Operand.Reg(var register) -> results.add(instance.register(register));
      case Operand.Sink() -> results.add(null);
      case Operand.Vector vector ->
          vector.elements().forEach(element -> result(instance, instruction, element, results));
      case Operand.Pair pair -> {
        result(instance, instruction, pair.first(), results);
        result(instance, instruction, pair.second(), results);
      }
      default -> throw new RefusedException(instruction, "has an illegal destination");
    }
  }

  private Value value(Instance instance, Instruction instruction, Operand operand) {
    return switch (operand) {
      case Operand.Reg(var register) -> instance.register(register);
      case Operand.Not(var register) -> new Value.Not(instance.register(register));
      case Operand.Int(long value) -> new Value.Int(value);
      case Operand.Real real -> new Value.Real(real);
      case Operand.Special(String name) -> new Value.Special(name);
      case Operand.Address address -> new Value.Int(address(instance, instruction, address));
      case Operand.FunctionAddress(String name) ->
          new Value.Int(module.functionAddress(name).orElseThrow());
      case Operand.Memory(Operand base, long offset) ->
          new Value.Memory(value(instance, instruction, base), offset);
      case Operand.Vector vector ->
          new Value.Vector(
              vector.elements().stream()
                  .map(element -> value(instance, instruction, element))
                  .toList());
      case Operand.Sink() -> new Value.Int(0);
      case Operand.Target _, Operand.Pair _ ->
          throw new RefusedException(instruction, "has an illegal operand");
    };
  }

  private long address(Instance instance, Instruction instruction, Operand.Address operand) {
    Variable variable = operand.variable();
    Placement placement = instance.placements().get(variable);
    if (placement == null) {
      if (variable.space() == Space.SHARED) {
        return shared.offsets().get(variable) + operand.offset();
      }
      Long address = globalAddresses.get(variable.name());
      if (address == null) {
        throw new RefusedException(instruction, "names " + variable + ", which has no address");
      }
      return address + operand.offset();
    }
    return operand.offset()
        + switch (placement) {
          case Placement.InLocal local -> local.address();
          case Placement.InParams params -> params.offset();
          case Placement.InShared inShared -> inShared.address();
          case Placement.InRegisters _ ->
              throw new RefusedException(instruction, "takes the address of a register variable");
        };
  }

  private static boolean isParamAccess(Instance instance, Instruction instruction) {
    if (!instruction.has("param")
        || !instruction.opcode().equals("ld") && !instruction.opcode().equals("st")) {
      return false;
    }
    return instance.afterReturn() != null
        || instruction.operands().stream()
            .anyMatch(operand ->
                operand instanceof Operand.Memory(Operand.Address(Variable variable, long _), _)
                    && !(instance.placements().get(variable) instanceof Placement.InParams));
  }

  /** Access to a parameter of a call: a register move, or an access to local memory. */
  private void paramAccess(Instance instance, Instruction instruction) {
    boolean load = instruction.opcode().equals("ld");
    Operand place = instruction.operands().get(load ? 1 : 0);
    Operand data = instruction.operands().get(load ? 0 : 1);
    if (place instanceof Operand.Memory(Operand.Address(Variable variable, long at), long offset)
        && instance.placements().get(variable) instanceof Placement.InRegisters registers) {
      List<Operand> elements =
          data instanceof Operand.Vector vector ? vector.elements() : List.of(data);
      Type type = new Op(instruction, "", instruction.modifiers(), List.of(), List.of()).type();
      for (int i = 0; i < elements.size(); i++) {
        VReg piece = registers.pieces().get(at + offset + (long) i * type.bytes());
        if (load) {
          List<VReg> to = new ArrayList<>();
          result(instance, instruction, elements.get(i), to);
          move(instruction, type, to.get(0), piece);
        } else {
          move(instruction, type, piece, value(instance, instruction, elements.get(i)));
        }
      }
      return;
    }
    List<String> modifiers = new ArrayList<>(instruction.modifiers());
    modifiers.replaceAll(modifier -> modifier.startsWith("param") ? "local" : modifier);
    Op op = operation(instance, instruction);
    graph.append(
        current, new Op(instruction, instruction.opcode(), modifiers, op.results(), op.args()));
  }

  private void move(Instruction instruction, Type type, VReg to, Value from) {
    if (to != null) {
      graph.append(
          current, new Op(instruction, "mov", List.of(type.ptxName()), List.of(to), List.of(from)));
    }
  }

  private void call(Instance caller, Instruction instruction) {
    CallParts parts = CallParts.of(instruction);
    if (!(parts.target() instanceof Operand.FunctionAddress(String name))) {
      throw new RefusedException(instruction, "through a register is not supported");
    }
    Function callee = module.function(name).orElseThrow();
    if (!callee.defined()) {
      builtIn(caller, instruction, callee, parts);
      return;
    }
    long localBefore = localTop;
    BasicBlock after = graph.newBlock();
    Instance instance = new Instance(graph, callee, after);
    bind(caller, instance, instruction, callee.params(), parts.args(), true);
    bind(caller, instance, instruction, callee.results(), parts.results(), false);
    body(instance);
    localTop = localBefore;
    current = after;
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
    if (formals.size() != actuals.size()) {
      throw new RefusedException(call, "does not match the parameters of the function");
    }
    for (int i = 0; i < formals.size(); i++) {
      switch (formals.get(i)) {
        case Formal.InMemory(Variable formal) -> {
          if (actuals.get(i) instanceof Operand.Address(Variable actual, long _)
              && caller.placements().containsKey(actual)) {
            instance.placements().put(formal, caller.placements().get(actual));
          } else {
            bindValue(caller, instance, call, formal, arguments ? actuals.get(i) : null);
          }
        }
        case Formal.InRegister(var register) -> {
          if (arguments) {
            VReg to = instance.register(register);
            move(call, register.type(), to, value(caller, call, actuals.get(i)));
          }
        }
      }
    }
  }

  /** A formal in parameter space whose actual is a register or constant. */
  private void bindValue(
      Instance caller, Instance instance, Instruction call, Variable formal, Operand actual) {
    if (formal.sizeBytes() > 8) {
      throw new RefusedException(call, "passes a register for an array");
    }
    Type type = bitsOfWidth((int) formal.sizeBytes());
    VReg piece = graph.newRegister(formal.name(), type);
    instance.placements().put(formal, new Placement.InRegisters(Map.of(0L, piece)));
    if (actual != null) {
      move(call, type, piece, value(caller, call, actual));
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
      move(call, register.type(), caller.register(register), from);
    }
  }

  private void builtIn(Instance caller, Instruction instruction, Function callee, CallParts parts) {
    if (!BUILT_IN.contains(callee.name())) {
      throw new RefusedException(
          instruction, "calls " + callee.name() + ", which this device does not provide");
    }
    List<Value> args = new ArrayList<>();
    for (Operand operand : parts.args()) {
      if (operand instanceof Operand.Address(Variable variable, long _)
          && caller.placements().get(variable) instanceof Placement.InRegisters registers) {
        args.add(registers.pieces().get(0L));
      } else {
        args.add(value(caller, instruction, operand));
      }
    }
    List<VReg> results = new ArrayList<>();
    for (Operand operand : parts.results()) {
      if (operand instanceof Operand.Address(Variable variable, long _)
          && caller.placements().get(variable) instanceof Placement.InRegisters registers) {
        results.add(registers.pieces().get(0L));
      } else {
        result(caller, instruction, operand, results);
      }
    }
    graph.append(current, new Op(instruction, "call", List.of(callee.name()), results, args));
  }
}
