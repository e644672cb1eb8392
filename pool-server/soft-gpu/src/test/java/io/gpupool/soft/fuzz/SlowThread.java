// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Function.Formal;
import io.gpupool.soft.ptx.Label;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Register;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.Variable;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One thread of a kernel that is interpreted, statement by statement. */
final class SlowThread {
  private static final int MAX_STEPS = 200_000;

  /** An active function. */
  private static final class Frame {
    final Function function;
    final Map<Register, Long> registers = new HashMap<>();
    final Map<Variable, Long> places = new HashMap<>();
    int pc;

    Frame(Function function) {
      this.function = function;
    }
  }

  final int index;
  final SlowBlock block;
  private final SlowMemory local = new SlowMemory();
  private final Deque<Frame> frames = new ArrayDeque<>();
  private long localTop = SlowMemory.LOCAL_WINDOW + 64;
  private long carry;
  private int steps;

  /** What the thread waits at, else null. */
  Instruction waitsAt;

  boolean ended;

  SlowThread(SlowBlock block, int index, Function kernel, byte[] params) {
    this.block = block;
    this.index = index;
    Frame frame = push(kernel);
    long at = 0;
    for (Formal formal : kernel.params()) {
      Variable variable = ((Formal.InMemory) formal).variable();
      at = -(-at & -variable.alignBytes());
      for (int i = 0; i < variable.sizeBytes(); i++) {
        local.write(frame.places.get(variable) + i, 1, params[(int) at + i]);
      }
      at += variable.sizeBytes();
    }
  }

  private Frame push(Function function) {
    Frame frame = new Frame(function);
    for (List<Formal> formals : List.of(function.params(), function.results())) {
      for (Formal formal : formals) {
        if (formal instanceof Formal.InMemory(Variable variable)) {
          place(frame, variable);
        }
      }
    }
    for (Variable variable : function.locals()) {
      if (variable.space() == Space.LOCAL || variable.space() == Space.PARAM) {
        place(frame, variable);
      }
    }
    frames.push(frame);
    return frame;
  }

  private void place(Frame frame, Variable variable) {
    long address = -(-localTop & -16L);
    localTop = address + variable.sizeBytes();
    local.put(address, new byte[(int) variable.sizeBytes()]);
    frame.places.put(variable, address);
  }

  /** Runs until the thread ends or waits. */
  void run() {
    while (!ended && waitsAt == null) {
      Frame frame = frames.peek();
      if (frame.pc >= frame.function.body().size()) {
        leave();
        continue;
      }
      if (++steps > MAX_STEPS) {
        throw new EndlessKernelException();
      }
      Statement statement = frame.function.body().get(frame.pc++);
      if (statement instanceof Instruction instruction && guard(instruction)) {
        try {
          execute(instruction);
        } catch (IllegalStateException | java.util.NoSuchElementException e) {
          throw new IllegalStateException(
              "line %d: %s".formatted(instruction.line(), instruction.text()), e);
        }
      }
    }
  }

  /** A kernel that takes too long to be interpreted. */
  static final class EndlessKernelException extends RuntimeException {}

  private boolean guard(Instruction instruction) {
    Statement.Guard guard = instruction.guard();
    return guard == null || get(guard.predicate()) == (guard.negated() ? 0 : 1);
  }

  private long get(Register register) {
    return frames.peek().registers.getOrDefault(register, 0L);
  }

  /** Stores a result; a register keeps as many bits as it has. */
  void set(Operand to, long bits) {
    if (to instanceof Operand.Reg(var register)) {
      frames.peek().registers.put(register, Whole.cut(register.type().bits(), bits));
    }
  }

  long value(Operand operand, Type type) {
    return switch (operand) {
      case Operand.Reg(var register) -> get(register);
      case Operand.Not(var register) -> 1 - get(register);
      case Operand.Int(long value) -> value;
      case Operand.Real real ->
          type == Type.F64 ? real.doubleBits() : real.singleBits() & 0xFFFF_FFFFL;
      case Operand.Special(String name) -> block.special(name, index);
      case Operand.Address(var variable, long offset) -> address(variable) + offset;
      case Operand.FunctionAddress(String name) -> block.functionAddress(name);
      default -> throw new IllegalStateException("no value: " + operand);
    };
  }

  private long address(Variable variable) {
    Long local = frames.peek().places.get(variable);
    return local != null ? local : block.address(variable);
  }

  private void execute(Instruction in) {
    List<Operand> operands = in.operands();
    switch (in.opcode()) {
      case "bra" -> jump(((Operand.Target) operands.get(0)).label());
      case "brx" -> {
        List<Label> targets = ((Operand.Target) operands.get(1)).label().targets();
        jump(targets.get((int) value(operands.get(0), Type.U32)));
      }
      case "exit" -> ended = true;
      case "ret" -> leave();
      case "call" -> call(operands);
      case "bar", "barrier", "shfl", "vote", "match", "redux" -> waitsAt = in;
      case "activemask" -> set(operands.get(0), 1L << block.lane(index));
      case "ld", "ldu" -> load(in, operands);
      case "st" -> store(in, operands);
      case "atom", "red" -> atomic(in, operands);
      case "cvta" -> convertAddress(in, operands);
      case "isspacep" ->
          set(
              operands.get(0),
              space(value(operands.get(1), Type.U64)).equals(in.modifiers().get(0)) ? 1 : 0);
      case "membar", "fence" -> {}
      case "setp" -> compare(in, operands);
      case "set" -> {
        boolean result = compared(in, operands, true);
        Type to = Type.named(in.modifiers().get(in.modifiers().size() - 2)).orElseThrow();
        long yes = to == Type.F32 ? Float.floatToRawIntBits(1f) : -1;
        set(operands.get(0), result ? yes : 0);
      }
      case "selp" -> {
        Type type = type(in);
        Operand chosen = value(operands.get(3), Type.PRED) != 0 ? operands.get(1) : operands.get(2);
        set(operands.get(0), value(chosen, type));
      }
      case "slct" -> {
        Type by = type(in);
        long c = value(operands.get(3), by);
        boolean first =
            by == Type.F32
                ? Real.toDouble(by, flushed(in, c)) >= 0
                : Whole.number(by, c).signum() >= 0;
        Type type = Type.named(in.modifiers().get(in.modifiers().size() - 2)).orElseThrow();
        set(operands.get(0), value(operands.get(first ? 1 : 2), type));
      }
      case "testp" ->
          set(
              operands.get(0),
              Real.test(in.modifiers().get(0), type(in), value(operands.get(1), type(in))) ? 1 : 0);
      case "mov" -> move(in, operands);
      case "cvt" -> {
        int last = in.modifiers().size() - 1;
        Type from = type(in);
        Type to = Type.named(in.modifiers().get(last - 1)).orElseThrow();
        if (to == Type.F16X2 || to == Type.BF16X2) {
          Type half = to == Type.F16X2 ? Type.F16 : Type.BF16;
          long high = Convert.convert(in, half, from, value(operands.get(1), from));
          long low = Convert.convert(in, half, from, value(operands.get(2), from));
          set(operands.get(0), high << 16 | low);
        } else {
          long bits = Whole.cut(from.bits(), value(operands.get(1), from));
          set(operands.get(0), Convert.convert(in, to, from, bits));
        }
      }
      case "addc", "subc", "madc" -> carrying(in, operands, carry);
      default -> {
        if (in.has("cc")) {
          carrying(in, operands, 0);
        } else {
          compute(in, operands);
        }
      }
    }
  }

  private static long flushed(Instruction in, long bits) {
    return in.has("ftz") ? Real.format(Type.F32).flushed(bits) : bits;
  }

  /** The last type that an instruction names: that of what it reads. */
  static Type type(Instruction in) {
    for (String modifier : in.modifiers().reversed()) {
      if (Type.named(modifier).isPresent()) {
        return Type.named(modifier).get();
      }
    }
    throw new IllegalStateException("no type");
  }

  private void compute(Instruction in, List<Operand> operands) {
    Type type = type(in);
    if (type == Type.PRED) {
      long a = value(operands.get(1), type);
      long b = operands.size() > 2 ? value(operands.get(2), type) : 0;
      set(
          operands.get(0),
          switch (in.opcode()) {
            case "and" -> a & b;
            case "or" -> a | b;
            case "xor" -> a ^ b;
            case "not" -> 1 - a;
            default -> throw new IllegalStateException("no reference for " + in.text());
          });
      return;
    }
    long[] args = new long[operands.size() - 1];
    for (int i = 0; i < args.length; i++) {
      args[i] = value(operands.get(i + 1), type);
    }
    set(
        operands.get(0),
        type.isFloat() ? Real.compute(in, type, args) : Whole.compute(in, type, args));
  }

  private void carrying(Instruction in, List<Operand> operands, long carryIn) {
    Type type = type(in);
    java.math.BigInteger a = Whole.number(unsigned(type), value(operands.get(1), type));
    java.math.BigInteger b = Whole.number(unsigned(type), value(operands.get(2), type));
    java.math.BigInteger extra = java.math.BigInteger.valueOf(carryIn);
    java.math.BigInteger result;
    if (in.opcode().startsWith("mad")) {
      java.math.BigInteger product =
          Whole.number(type, value(operands.get(1), type))
              .multiply(Whole.number(type, value(operands.get(2), type)));
      product = in.has("hi") ? product.shiftRight(type.bits()) : product;
      java.math.BigInteger part = Whole.number(unsigned(type), Whole.bits(type.bits(), product));
      java.math.BigInteger c = Whole.number(unsigned(type), value(operands.get(3), type));
      result = part.add(c).add(extra);
    } else {
      result = in.opcode().startsWith("sub") ? a.subtract(b).subtract(extra) : a.add(b).add(extra);
    }
    if (in.has("cc")) {
      carry = result.testBit(type.bits()) ? 1 : 0;
    }
    set(operands.get(0), Whole.bits(type.bits(), result));
  }

  private static Type unsigned(Type type) {
    return type.bits() == 64 ? Type.U64 : Type.U32;
  }

  private boolean compared(Instruction in, List<Operand> operands, boolean positive) {
    Type type = type(in);
    long a = value(operands.get(1), type);
    long b = value(operands.get(2), type);
    String comparison = in.modifiers().get(0);
    boolean result;
    if (type.isFloat()) {
      long x = in.has("ftz") ? Real.format(type).flushed(a) : a;
      long y = in.has("ftz") ? Real.format(type).flushed(b) : b;
      result = Real.compare(comparison, Real.toDouble(type, x), Real.toDouble(type, y));
    } else {
      int order = Whole.number(type, a).compareTo(Whole.number(type, b));
      result =
          switch (comparison) {
            case "eq" -> order == 0;
            case "ne" -> order != 0;
            case "lt", "lo" -> order < 0;
            case "le", "ls" -> order <= 0;
            case "gt", "hi" -> order > 0;
            case "ge", "hs" -> order >= 0;
            default -> throw new IllegalStateException("no comparison " + comparison);
          };
    }
    result = result == positive;
    if (operands.size() > 3) {
      boolean c = value(operands.get(3), Type.PRED) != 0;
      result = in.has("and") ? result && c : in.has("or") ? result || c : result != c;
    }
    return result;
  }

  private void compare(Instruction in, List<Operand> operands) {
    boolean yes = compared(in, operands, true);
    boolean no = compared(in, operands, false);
    if (operands.get(0) instanceof Operand.Pair(var first, var second)) {
      set(second, no ? 1 : 0);
      set(first, yes ? 1 : 0);
    } else {
      set(operands.get(0), yes ? 1 : 0);
    }
  }

  private void move(Instruction in, List<Operand> operands) {
    Type type = type(in);
    if (operands.get(0) instanceof Operand.Vector(var elements)) {
      int width = type.bits() / elements.size();
      long bits = value(operands.get(1), type);
      for (int i = 0; i < elements.size(); i++) {
        set(elements.get(i), Whole.cut(width, bits >>> i * width));
      }
    } else if (operands.get(1) instanceof Operand.Vector(var elements)) {
      int width = type.bits() / elements.size();
      long bits = 0;
      for (int i = 0; i < elements.size(); i++) {
        bits |= Whole.cut(width, value(elements.get(i), Type.B64)) << i * width;
      }
      set(operands.get(0), bits);
    } else {
      set(operands.get(0), value(operands.get(1), type));
    }
  }

  private void jump(Label label) {
    Frame frame = frames.peek();
    frame.pc = block.place(frame.function, label);
  }

  // Memory.

  private static String space(Instruction in) {
    for (String modifier : in.modifiers()) {
      switch (modifier) {
        case "global", "shared", "local", "const", "param" -> {
          return modifier;
        }
        default -> {}
      }
    }
    return "generic";
  }

  private static String space(long address) {
    return address >= SlowMemory.LOCAL_WINDOW
        ? "local"
        : address >= SlowMemory.SHARED_WINDOW ? "shared" : "global";
  }

  /** Here all addresses are generic ones, those in shared memory cut to 32 bits at times. */
  private long memoryAddress(Instruction in, Operand operand) {
    Operand.Memory memory = (Operand.Memory) operand;
    long address = value(memory.base(), Type.U64) + memory.offset();
    if (space(in).equals("shared") && address < 1L << 32) {
      return address + SlowMemory.SHARED_WINDOW;
    }
    return address;
  }

  private SlowMemory memory(long address) {
    return address >= SlowMemory.LOCAL_WINDOW ? local : block.memory();
  }

  private void convertAddress(Instruction in, List<Operand> operands) {
    long address = value(operands.get(1), Type.U64);
    boolean shared = space(in).equals("shared");
    if (in.has("to")) {
      set(operands.get(0), shared ? address - SlowMemory.SHARED_WINDOW : address);
    } else {
      boolean cut = shared && address < 1L << 32;
      set(operands.get(0), cut ? address + SlowMemory.SHARED_WINDOW : address);
    }
  }

  private void load(Instruction in, List<Operand> operands) {
    Type type = type(in);
    long address = memoryAddress(in, operands.get(1));
    List<Operand> to =
        operands.get(0) instanceof Operand.Vector(var elements)
            ? elements
            : List.of(operands.get(0));
    for (int i = 0; i < to.size(); i++) {
      long bits = memory(address).read(address + (long) i * type.bytes(), type.bytes());
      set(to.get(i), type.isSigned() ? Convert.extended(type, bits) : bits);
    }
  }

  private void store(Instruction in, List<Operand> operands) {
    Type type = type(in);
    long address = memoryAddress(in, operands.get(0));
    List<Operand> from =
        operands.get(1) instanceof Operand.Vector(var elements)
            ? elements
            : List.of(operands.get(1));
    for (int i = 0; i < from.size(); i++) {
      memory(address)
          .write(address + (long) i * type.bytes(), type.bytes(), value(from.get(i), type));
    }
  }

  private void atomic(Instruction in, List<Operand> operands) {
    Type type = type(in);
    boolean returns = in.opcode().equals("atom");
    long address = memoryAddress(in, operands.get(returns ? 1 : 0));
    long old = memory(address).read(address, type.bytes());
    long b = value(operands.get(returns ? 2 : 1), type);
    long result;
    if (in.has("cas")) {
      result = old == Whole.cut(type.bits(), b) ? value(operands.get(3), type) : old;
    } else {
      result = updated(in, type, old, b);
    }
    memory(address).write(address, type.bytes(), result);
    if (returns) {
      set(operands.get(0), old);
    }
  }

  private static long updated(Instruction in, Type type, long old, long b) {
    if (in.has("exch")) {
      return b;
    }
    if (type.isFloat()) {
      double sum = Real.toDouble(type, old) + Real.toDouble(type, b);
      return type == Type.F64
          ? Double.doubleToRawLongBits(sum)
          : Float.floatToRawIntBits(
              Float.intBitsToFloat((int) old) + Float.intBitsToFloat((int) b));
    }
    java.math.BigInteger x = Whole.number(type, old);
    java.math.BigInteger y = Whole.number(type, b);
    for (String operation : in.modifiers()) {
      switch (operation) {
        case "add":
          return x.add(y).longValue();
        case "min":
          return x.min(y).longValue();
        case "max":
          return x.max(y).longValue();
        case "and":
          return old & b;
        case "or":
          return old | b;
        case "xor":
          return old ^ b;
        case "inc":
          return x.compareTo(y) >= 0 ? 0 : old + 1;
        case "dec":
          return x.signum() == 0 || x.compareTo(y) > 0 ? b : old - 1;
        default:
          break;
      }
    }
    throw new IllegalStateException("no reference for " + in.text());
  }

  // Calls.

  private void call(List<Operand> operands) {
    int at = operands.get(0) instanceof Operand.Vector ? 1 : 0;
    Function callee = block.function(operands.get(at), value(operands.get(at), Type.U64));
    Frame caller = frames.peek();
    List<Operand> actuals =
        operands.size() > at + 1 && operands.get(at + 1) instanceof Operand.Vector(var elements)
            ? elements
            : List.of();
    long[] values = new long[actuals.size()];
    for (int i = 0; i < values.length; i++) {
      if (callee.params().get(i) instanceof Formal.InRegister(var register)) {
        values[i] = value(actuals.get(i), register.type());
      }
    }
    Frame frame = push(callee);
    for (int i = 0; i < actuals.size(); i++) {
      switch (callee.params().get(i)) {
        case Formal.InRegister(var register) ->
            frame.registers.put(register, Whole.cut(register.type().bits(), values[i]));
        case Formal.InMemory(Variable formal) -> {
          Variable actual = ((Operand.Address) actuals.get(i)).variable();
          copy(caller.places.get(actual), frame.places.get(formal), formal.sizeBytes());
        }
      }
    }
  }

  private void copy(long from, long to, long bytes) {
    for (long i = 0; i < bytes; i++) {
      local.write(to + i, 1, local.read(from + i, 1));
    }
  }

  private void leave() {
    Frame frame = frames.pop();
    if (frames.isEmpty()) {
      ended = true;
      return;
    }
    Frame caller = frames.peek();
    Instruction call = (Instruction) caller.function.body().get(caller.pc - 1);
    if (call.operands().get(0) instanceof Operand.Vector(var results)) {
      for (int i = 0; i < results.size(); i++) {
        switch (frame.function.results().get(i)) {
          case Formal.InRegister(var register) ->
              set(results.get(i), frame.registers.getOrDefault(register, 0L));
          case Formal.InMemory(Variable formal) -> {
            Variable actual = ((Operand.Address) results.get(i)).variable();
            copy(frame.places.get(formal), caller.places.get(actual), formal.sizeBytes());
          }
        }
      }
    }
  }

  /** Goes on behind what it waited at. */
  void resume() {
    waitsAt = null;
  }
}
