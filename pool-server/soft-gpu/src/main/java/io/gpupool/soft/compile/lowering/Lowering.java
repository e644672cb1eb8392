// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.access.AddressTranslation;
import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Function.Formal;
import io.gpupool.soft.ptx.Label;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Statement.Guard;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.Variable;
import io.gpupool.soft.ptx.instruction.InstructionForm;
import io.gpupool.soft.ptx.instruction.InstructionForms;
import io.gpupool.soft.ptx.module.PtxModule;
import io.gpupool.soft.ptx.module.SharedLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The translation of a kernel and the functions it calls into a control-flow graph. */
public final class Lowering {
  private static final long MAX_LOCAL_BYTES = 512 << 10;

  private final SharedLayout shared;
  private final Graph graph = new Graph();
  private final ParamUses paramUses;
  private final Operands operands;
  private final CallLowering calls;
  private BasicBlock current = graph.entry();
  private final boolean usesStack;
  private long localTop;

  private Lowering(PtxModule module, Map<String, Long> globalAddresses, SharedLayout shared) {
    this.shared = shared;
    usesStack = module.usesStack();
    paramUses = new ParamUses(module);
    operands = new Operands(module, globalAddresses, shared, graph);
    calls = new CallLowering(this, module, graph, operands, paramUses);
  }

  public static Graph lower(
      PtxModule module, Function kernel, Map<String, Long> globalAddresses, SharedLayout shared) {
    Lowering lowering = new Lowering(module, globalAddresses, shared);
    lowering.kernel(kernel);
    lowering.calls.routines();
    lowering.graph.arrange();
    return lowering.graph;
  }

  private void kernel(Function kernel) {
    Instance instance = Instance.kernel(graph, kernel);
    long offset = 0;
    for (Formal formal : kernel.params()) {
      if (formal instanceof Formal.InMemory(Variable variable)) {
        offset = align(offset, variable.alignBytes());
        instance.placements().put(variable, new Placement.InParams(offset));
        offset += variable.sizeBytes();
      }
    }
    graph.paramBytes(Math.toIntExact(offset));
    beginLocal(Instance.synthetic(kernel));
    body(instance);
  }

  BasicBlock current() {
    return current;
  }

  void current(BasicBlock block) {
    current = block;
  }

  /** Local memory is free where a function begins that is not inlined, save for its stack. */
  void beginLocal(Instruction source) {
    localTop = 0;
    if (usesStack) {
      localTop = AddressTranslation.STACK_BYTES;
      graph.needLocal(AddressTranslation.STACK_BYTES);
      move(source, Type.B64, operands.stackTop(), new Value.Int(0));
    }
  }

  /** First free byte of local memory. */
  long localTop() {
    return localTop;
  }

  void localTop(long top) {
    localTop = top;
  }

  void append(Op op) {
    graph.append(current, op);
  }

  void move(Instruction instruction, Type type, VReg to, Value from) {
    if (to != null) {
      append(new Op(instruction, "mov", List.of(type.ptxName()), List.of(to), List.of(from)));
    }
  }

  /** Adds a function's instructions at the current place. */
  void body(Instance instance) {
    placeLocals(instance);
    for (Statement statement : instance.function().body()) {
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
  }

  private void leave(Instance instance) {
    switch (instance.kind()) {
      case KERNEL -> current.end(new Terminator.Exit());
      case INLINED -> current.end(new Terminator.Goto(instance.afterReturn()));
      case ROUTINE -> calls.leave(instance);
    }
  }

  private void placeLocals(Instance instance) {
    Function function = instance.function();
    Map<Variable, ParamUse> uses = paramUses.ofLocals(function);
    for (Variable variable : function.locals()) {
      switch (variable.space()) {
        case LOCAL -> instance.placements().put(variable, local(variable));
        case SHARED ->
            instance
                .placements()
                .put(
                    variable,
                    new Placement.InShared(requireNonNull(shared.offsets().get(variable))));
        case PARAM ->
            instance
                .placements()
                .put(variable, place(variable, requireNonNull(uses.get(variable))));
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
                offset,
                graph.newRegister(variable.name() + "+" + offset, Type.bitsOfWidth(width))));
    return new Placement.InRegisters(pieces);
  }

  Placement local(Variable variable) {
    // Eight at least, since variables are copied by pieces of eight bytes.
    localTop = align(localTop, Math.max(variable.alignBytes(), 8));
    long address = localTop;
    localTop += variable.sizeBytes();
    if (localTop > MAX_LOCAL_BYTES) {
      throw new RefusedException("more than " + MAX_LOCAL_BYTES + " bytes of local memory");
    }
    graph.needLocal((int) localTop);
    return new Placement.InLocal(address);
  }

  private static long align(long offset, int align) {
    return -(-offset & -(long) align);
  }

  private void guarded(Instance instance, Instruction instruction) {
    if (current.ended()) {
      current = graph.newBlock();
    }
    Guard guard = instruction.guard();
    if (guard == null) {
      lower(instance, instruction);
      return;
    }
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

  private static void check(Instruction instruction) {
    InstructionForm form = InstructionForms.of(instruction).orElse(null);
    if (form == null) {
      throw new RefusedException(instruction, "is not supported: no form that is known here");
    }
    if (form.status() == InstructionForm.Status.REFUSED) {
      throw new RefusedException(instruction, "is not supported: " + form.note());
    }
  }

  private void lower(Instance instance, Instruction instruction) {
    check(instruction);
    switch (instruction.opcode()) {
      case "bra" ->
          current.end(
              new Terminator.Goto(
                  instance.block(label(instruction, instruction.operands().get(0)))));
      case "brx" -> select(instance, instruction);
      case "ret" -> leave(instance);
      case "exit" -> current.end(new Terminator.Exit());
      case "call" -> calls.call(instance, instruction);
      case "trap" -> {
        append(operands.operation(instance, instruction));
        current.end(new Terminator.Exit());
      }
      default -> {
        if (Waits.isWait(instruction)) {
          await(operands.operation(instance, instruction));
        } else if (isParamAccess(instance, instruction)) {
          paramAccess(instance, instruction);
        } else {
          append(operands.operation(instance, instruction));
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
        && operands.value(instance, instruction, instruction.operands().get(0))
            instanceof VReg index) {
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
      append(new Op(op.source(), "take", op.modifiers(), op.results(), List.of()));
    }
  }

  private static boolean isParamAccess(Instance instance, Instruction instruction) {
    if (!instruction.has("param") && !instruction.has("param::func")
        || !instruction.opcode().equals("ld") && !instruction.opcode().equals("st")) {
      return false;
    }
    return instance.kind() != Instance.Kind.KERNEL
        || instruction.operands().stream()
            .anyMatch(operand ->
                operand instanceof Operand.Memory(Operand.Address(Variable variable, long _), _)
                    && !(instance.placements().get(variable) instanceof Placement.InParams));
  }

  /** Access to a parameter of a call: a register move, or an access to frame or local memory. */
  private void paramAccess(Instance instance, Instruction instruction) {
    if (instruction.has("b128")) {
      throw new RefusedException(instruction, "of a function's parameter is not supported");
    }
    boolean load = instruction.opcode().equals("ld");
    Operand place = instruction.operands().get(load ? 1 : 0);
    Operand data = instruction.operands().get(load ? 0 : 1);
    Placement placement = null;
    if (place
        instanceof Operand.Memory(Operand.Address(Variable variable, long start), long more)) {
      placement = instance.placements().get(variable);
      requireInside(instruction, variable, start + more, data);
    }
    if (placement instanceof Placement.InRegisters || placement instanceof Placement.InFrame) {
      Operand.Memory memory = (Operand.Memory) place;
      long at = ((Operand.Address) memory.base()).offset() + memory.offset();
      List<Operand> elements =
          data instanceof Operand.Vector vector ? vector.elements() : List.of(data);
      Type type = new Op(instruction, "", instruction.modifiers(), List.of(), List.of()).type();
      for (int i = 0; i < elements.size(); i++) {
        long offset = at + (long) i * type.bytes();
        if (load) {
          List<@Nullable VReg> to = new ArrayList<>();
          operands.result(instance, instruction, elements.get(i), to);
          readPiece(instruction, type, to.get(0), placement, offset);
        } else {
          Value value = operands.value(instance, instruction, elements.get(i));
          writePiece(instruction, type, placement, offset, value);
        }
      }
      return;
    }
    List<String> modifiers = new ArrayList<>(instruction.modifiers());
    String space = placement instanceof Placement.InParams ? "param" : "local";
    modifiers.replaceAll(modifier -> modifier.startsWith("param") ? space : modifier);
    Op op = operands.operation(instance, instruction);
    append(new Op(instruction, instruction.opcode(), modifiers, op.results(), op.args()));
  }

  private static void requireInside(
      Instruction instruction, Variable variable, long offset, Operand data) {
    Type type = new Op(instruction, "", instruction.modifiers(), List.of(), List.of()).type();
    int count = data instanceof Operand.Vector vector ? vector.elements().size() : 1;
    if (offset < 0 || offset > variable.sizeBytes() - (long) count * type.bytes()) {
      throw new RefusedException(
          instruction,
          "reaches outside of parameter "
              + variable.name()
              + ", which has "
              + variable.sizeBytes()
              + " bytes");
    }
  }

  private void readPiece(
      Instruction instruction, Type type, VReg to, Placement placement, long offset) {
    if (placement instanceof Placement.InRegisters registers) {
      move(instruction, type, to, requireNonNull(registers.pieces().get(offset)));
    } else if (to != null && placement instanceof Placement.InFrame frame) {
      append(FrameOps.get(instruction, type, to, frame.offset() + offset, false));
    }
  }

  private void writePiece(
      Instruction instruction, Type type, Placement placement, long offset, Value value) {
    if (placement instanceof Placement.InRegisters registers) {
      move(instruction, type, requireNonNull(registers.pieces().get(offset)), value);
    } else if (placement instanceof Placement.InFrame frame) {
      append(FrameOps.put(instruction, type, frame.offset() + offset, value, false));
    }
  }
}
