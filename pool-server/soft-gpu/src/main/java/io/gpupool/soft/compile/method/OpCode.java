// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import io.gpupool.soft.compile.arithmetic.BitCode;
import io.gpupool.soft.compile.arithmetic.CompareCode;
import io.gpupool.soft.compile.arithmetic.ConvertCode;
import io.gpupool.soft.compile.arithmetic.FloatCode;
import io.gpupool.soft.compile.arithmetic.HalfCode;
import io.gpupool.soft.compile.arithmetic.IntegerCode;
import io.gpupool.soft.compile.arithmetic.MoveCode;
import io.gpupool.soft.compile.arithmetic.PackedCode;
import io.gpupool.soft.compile.arithmetic.VideoCode;
import io.gpupool.soft.compile.emit.AddressCode;
import io.gpupool.soft.compile.emit.AtomicCode;
import io.gpupool.soft.compile.emit.BarrierCode;
import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.emit.MemoryCode;
import io.gpupool.soft.compile.emit.TextureCode;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.compile.lowering.FrameOps;
import io.gpupool.soft.exec.call.BuiltInFunctions;
import io.gpupool.soft.ptx.Type;
import java.lang.constant.ClassDesc;
import java.util.List;

/** The emitter of all operations; it hands each one to the emitter of its group. */
final class OpCode {
  private static final ClassDesc BUILT_INS = Code.desc(BuiltInFunctions.class);

  private final MoveCode move;
  private final IntegerCode integer;
  private final BitCode bit;
  private final VideoCode video;
  private final PackedCode packed;
  private final BarrierCode barrier;
  private final FloatCode floating;
  private final HalfCode half;
  private final CompareCode compare;
  private final ConvertCode convert;
  private final AddressCode addresses;
  private final MemoryCode memory;
  private final AtomicCode atomic;
  private final MatrixCode matrix;
  private final WarpCode warp;
  private final TextureCode texture;
  private final Code code;
  private final FrameCode frames;
  private final RuntimeCode runtime;

  OpCode(Code code, Graph graph, FrameCode frames) {
    this.code = code;
    this.frames = frames;
    addresses = new AddressCode(code, graph.paramBytes());
    move = new MoveCode(code);
    integer = new IntegerCode(code);
    bit = new BitCode(code);
    video = new VideoCode(code);
    packed = new PackedCode(code);
    barrier = new BarrierCode(code, addresses);
    floating = new FloatCode(code);
    half = new HalfCode(code);
    compare = new CompareCode(code);
    convert = new ConvertCode(code);
    memory = new MemoryCode(code, addresses);
    atomic = new AtomicCode(code, addresses);
    matrix = new MatrixCode(code, addresses);
    warp = new WarpCode(code, matrix);
    texture = new TextureCode(code);
    runtime = new RuntimeCode(code);
  }

  AddressCode addresses() {
    return addresses;
  }

  MemoryCode memory() {
    return memory;
  }

  WarpCode warp() {
    return warp;
  }

  void emit(Op op) {
    boolean emitted;
    try {
      emitted = tryEmit(op);
    } catch (IndexOutOfBoundsException e) {
      // The parser checks how many operands an opcode has at least in any of its forms.
      throw new RefusedException(op.source(), "lacks operands");
    }
    if (!emitted) {
      throw new RefusedException(op.source(), "is not supported");
    }
  }

  private boolean tryEmit(Op op) {
    return switch (op.opcode()) {
      case "mov", "cvta", "selp", "slct", "isspacep", "mapa", "getctarank", "createpolicy" ->
          move.emit(op);
      case "add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "neg", "abs" ->
          arithmetic(op);
      case "addc", "subc", "madc", "mul24", "mad24", "sad" -> integer.emit(op);
      case "and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "bfe", "bfi", "bfind", "brev" ->
          bit.emit(op);
      case "clz", "popc", "prmt", "lop3", "bmsk", "szext", "fns", "dp4a", "dp2a" -> bit.emit(op);
      case "sqrt", "rsqrt", "rcp", "sin", "cos", "lg2", "copysign", "testp" -> floating.emit(op);
      case "ex2", "tanh" -> op.type().isHalf() ? half.emit(op) : floating.emit(op);
      case "setp", "set" -> compare.emit(op);
      case "cvt" -> convert.emit(op);
      case "ld", "ldu" -> memory.emit(op);
      case "st" -> op.has("async") ? barrier.remote(op, atomic) : memory.emit(op);
      case "cp" -> op.has("bulk") || op.has("mbarrier") ? barrier.copy(op) : memory.emit(op);
      case "mbarrier" -> barrier.emit(op);
      case "alloca", "stacksave", "stackrestore" -> move.stack(op);
      case "prefetch",
          "prefetchu",
          "applypriority",
          "pmevent",
          "griddepcontrol",
          "setmaxnreg",
          "discard" ->
          true;
      case "membar", "fence" -> memory.fence();
      case "atom" -> atomic.emit(op);
      case "red" -> op.has("async") ? barrier.remote(op, atomic) : atomic.emit(op);
      case "tex", "tld4", "txq", "suld", "sust", "sured", "suq" -> texture.emit(op);
      case "wmma" -> matrix.move(op);
      case "take" -> warp.take(op);
      case "bar", "barrier" -> warp.arriveOnly(op);
      case "brkpt" -> true;
      case "trap" -> {
        code.pushBlock();
        code.callBlock("trap", "()V");
        yield true;
      }
      case "call" -> builtIn(op);
      case FrameOps.GET, FrameOps.PUT -> {
        frames.pass(op);
        yield true;
      }
      default -> video.emit(op);
    };
  }

  private boolean arithmetic(Op op) {
    Type type = op.type();
    if (op.types().getFirst() == Type.F32 || type == Type.F32X2) {
      return floating.emit(op);
    }
    if (type.isHalf()) {
      return half.emit(op);
    }
    if (type == Type.U16X2 || type == Type.S16X2) {
      return packed.emit(op);
    }
    return type == Type.F32 || type == Type.F64 ? floating.emit(op) : integer.emit(op);
  }

  private boolean builtIn(Op op) {
    if (runtime.emit(op)) {
      return true;
    }
    List<Value> args = op.args();
    VReg result = op.results().isEmpty() ? null : op.results().get(0);
    code.pushBlock();
    switch (op.modifiers().get(0)) {
      case "vprintf" -> {
        code.pushThread();
        code.pushAll(args, Type.U64);
        code.call(BUILT_INS, "vprintf", "(" + AddressCode.block() + "IJJ)I");
        code.pop(result, Type.B32);
      }
      case "malloc" -> {
        code.push(args.get(0), Type.U64);
        code.call(BUILT_INS, "malloc", "(" + AddressCode.block() + "J)J");
        code.pop(result, Type.B64);
      }
      case "free" -> {
        code.push(args.get(0), Type.U64);
        code.call(BUILT_INS, "free", "(" + AddressCode.block() + "J)V");
      }
      default -> {
        code.pushThread();
        code.push(args.get(0), Type.U64);
        code.push(args.get(1), Type.U64);
        code.push(args.get(2), Type.U32);
        code.push(args.get(3), Type.U64);
        code.call(BUILT_INS, "assertFail", "(" + AddressCode.block() + "IJJIJ)V");
      }
    }
    return true;
  }
}
