// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.Variable;
import io.gpupool.soft.ptx.module.PtxModule;
import io.gpupool.soft.ptx.module.SharedLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The translation of PTX operands into registers and numbers. */
public final class Operands {
  /** Instructions without a result in first place. */
  private static final Set<String> NO_RESULT =
      Set.of(
          "st",
          "sust",
          "stmatrix",
          "sured",
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
          "stackrestore");

  /** What {@code mbarrier} does without a result. */
  private static final Set<String> SILENT_BARRIERS =
      Set.of("init", "inval", "expect_tx", "complete_tx");

  private static final Set<String> READS_CARRY = Set.of("addc", "subc", "madc");

  private final PtxModule module;
  private final Map<String, Long> globalAddresses;
  private final SharedLayout shared;
  private final Graph graph;
  private @Nullable VReg carry;
  private @Nullable VReg stackTop;

  Operands(PtxModule module, Map<String, Long> globalAddresses, SharedLayout shared, Graph graph) {
    this.module = module;
    this.globalAddresses = globalAddresses;
    this.shared = shared;
    this.graph = graph;
  }

  Op operation(Instance instance, Instruction instruction) {
    List<@Nullable VReg> results = new ArrayList<>();
    List<Value> args = new ArrayList<>();
    List<Operand> operands = instruction.operands();
    int first = 0;
    boolean hasResult =
        switch (instruction.opcode()) {
          case "bar", "barrier" -> instruction.has("red");
          case "wmma" -> !instruction.has("store");
          case "mbarrier" -> !SILENT_BARRIERS.contains(instruction.modifiers().getFirst());
          default -> !NO_RESULT.contains(instruction.opcode());
        };
    if (hasResult && !operands.isEmpty()) {
      result(instance, instruction, operands.get(0), results);
      first = 1;
    }
    for (Operand operand : operands.subList(first, operands.size())) {
      args.add(value(instance, instruction, operand));
    }
    addCarry(instruction, results, args);
    addStack(instance, instruction, results, args);
    return new Op(instruction, instruction.opcode(), instruction.modifiers(), results, args);
  }

  /** The condition code is a register that {@code .cc} writes and {@code addc} and kin read. */
  private void addCarry(Instruction instruction, List<@Nullable VReg> results, List<Value> args) {
    boolean reads = READS_CARRY.contains(instruction.opcode());
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

  /** How much of the stack is taken is a register that {@code alloca} and kin read and write. */
  private void addStack(
      Instance instance, Instruction instruction, List<@Nullable VReg> results, List<Value> args) {
    switch (instruction.opcode()) {
      case "alloca" -> {
        if (args.size() == 1) {
          args.add(new Value.Int(8));
        }
        args.add(stackTop());
        args.add(localAddress(instance, 0));
        results.add(stackTop());
      }
      case "stacksave" -> args.add(stackTop());
      case "stackrestore" -> results.add(stackTop());
      default -> {}
    }
  }

  /** Bytes of the stack that are taken; 0 where a function begins that is not inlined. */
  VReg stackTop() {
    if (stackTop == null) {
      stackTop = graph.newRegister("SP", Type.B64);
    }
    return stackTop;
  }

  void result(
      Instance instance, Instruction instruction, Operand operand, List<@Nullable VReg> results) {
    switch (operand) {
      case Operand.Reg(var register) when register.type() == Type.B128 ->
          results.addAll(instance.pair(register));
      case Operand.Reg(var register) -> results.add(instance.register(register));
      case Operand.Part(var register, String _) -> results.add(instance.register(register));
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

  Value value(Instance instance, Instruction instruction, Operand operand) {
    return switch (operand) {
      case Operand.Reg(var register) when register.type() == Type.B128 ->
          new Value.Vector(List.copyOf(instance.pair(register)));
      case Operand.Reg(var register) -> instance.register(register);
      case Operand.Part(var register, String _) -> instance.register(register);
      case Operand.Not(var register) -> new Value.Not(instance.register(register));
      case Operand.Int(long value) -> new Value.Int(value);
      case Operand.Real real -> new Value.Real(real);
      case Operand.Special(String name) -> new Value.Special(name);
      case Operand.Address address -> address(instance, instruction, address);
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

  private Value address(Instance instance, Instruction instruction, Operand.Address operand) {
    Variable variable = operand.variable();
    long offset = operand.offset();
    return switch (instance.placements().get(variable)) {
      case Placement.InLocal local -> localAddress(instance, local.address() + offset);
      case Placement.InParams params -> new Value.Int(params.offset() + offset);
      case Placement.InShared inShared -> new Value.Int(inShared.address() + offset);
      case Placement.InRegisters _, Placement.InFrame _ ->
          throw new RefusedException(instruction, "takes the address of a parameter");
      case null -> {
        if (variable.space() == Space.SHARED) {
          yield new Value.Int(requireNonNull(shared.offsets().get(variable)) + offset);
        }
        Long address = globalAddresses.get(variable.name());
        if (address == null) {
          throw new RefusedException(instruction, "names " + variable + ", which has no address");
        }
        yield new Value.Int(address + offset);
      }
    };
  }

  static Value localAddress(Instance instance, long address) {
    return instance.relocatable() ? new Value.LocalAddress(address) : new Value.Int(address);
  }
}
