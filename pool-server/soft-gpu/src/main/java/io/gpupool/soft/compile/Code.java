// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.exec.Atomics;
import io.gpupool.soft.exec.Checks;
import io.gpupool.soft.exec.ClusterMemory;
import io.gpupool.soft.exec.Conversions;
import io.gpupool.soft.exec.Doubles;
import io.gpupool.soft.exec.Floats;
import io.gpupool.soft.exec.Halves;
import io.gpupool.soft.exec.Integers;
import io.gpupool.soft.exec.MemoryBarriers;
import io.gpupool.soft.exec.Raw;
import io.gpupool.soft.exec.SmallFloats;
import io.gpupool.soft.exec.ThreadBlock;
import io.gpupool.soft.exec.VideoInstructions;
import io.gpupool.soft.ptx.SpecialRegisters;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.List;

/**
 * Emits JVM instructions that move PTX values between registers, constants and the operand stack.
 * On the stack a value has the JVM kind of the type asked for; types below 32 bits are extended.
 */
final class Code {
  static final ClassDesc BLOCK = desc(ThreadBlock.class);
  static final ClassDesc RAW = desc(Raw.class);
  static final ClassDesc CHECKS = desc(Checks.class);
  static final ClassDesc ATOMICS = desc(Atomics.class);
  static final ClassDesc INTEGERS = desc(Integers.class);
  static final ClassDesc FLOATS = desc(Floats.class);
  static final ClassDesc DOUBLES = desc(Doubles.class);
  static final ClassDesc HALVES = desc(Halves.class);
  static final ClassDesc CONVERSIONS = desc(Conversions.class);
  static final ClassDesc SMALL_FLOATS = desc(SmallFloats.class);
  static final ClassDesc VIDEOS = desc(VideoInstructions.class);
  static final ClassDesc BARRIERS = desc(MemoryBarriers.class);
  static final ClassDesc CLUSTER_MEMORY = desc(ClusterMemory.class);
  static final ClassDesc FLOAT = ConstantDescs.CD_Float;
  static final ClassDesc DOUBLE = ConstantDescs.CD_Double;
  static final ClassDesc INTEGER = ConstantDescs.CD_Integer;
  static final ClassDesc LONG = ConstantDescs.CD_Long;
  static final ClassDesc MATH = desc(Math.class);

  /** Parameters of the generated method, and its own two counters. */
  static final int BLOCK_LOCAL = 0;

  static final int THREAD_LOCAL = 1;
  static final int X_LOCAL = 2;
  static final int RESUME_LOCAL = 5;
  static final int POLL_LOCAL = 6;
  static final int YIELD_LOCAL = 7;

  /** Address of the thread's frame, or of all frames if they are interleaved. */
  static final int FRAME_LOCAL = 8;

  /** How many threads have a place in each row of interleaved frames. */
  static final int FRAME_THREADS_LOCAL = 10;

  /** Behind what methods keep for themselves. */
  static final int FIRST_REGISTER_LOCAL = 18;

  private final CodeBuilder cb;
  private final boolean interleaved;

  /**
   * Code of a kernel's method.
   *
   * @param interleaved whether the frames of all threads lie interleaved, a register of
   *     neighbouring threads side by side
   */
  Code(CodeBuilder cb, boolean interleaved) {
    this.cb = cb;
    this.interleaved = interleaved;
  }

  static ClassDesc desc(Class<?> type) {
    return type.describeConstable().orElseThrow();
  }

  CodeBuilder cb() {
    return cb;
  }

  void call(ClassDesc owner, String method, String descriptor) {
    cb.invokestatic(owner, method, MethodTypeDesc.ofDescriptor(descriptor));
  }

  /** Calls a method of the thread block, which lies below the arguments. */
  void callBlock(String method, String descriptor) {
    cb.invokevirtual(BLOCK, method, MethodTypeDesc.ofDescriptor(descriptor));
  }

  void pushBlock() {
    cb.aload(BLOCK_LOCAL);
  }

  void pushThread() {
    cb.iload(THREAD_LOCAL);
  }

  void blockField(String field, ClassDesc type) {
    pushBlock();
    cb.getfield(BLOCK, field, type);
  }

  void load(VReg register) {
    if (register.inFrame()) {
      pushFrame(register);
      get(register.kind());
    } else {
      cb.loadLocal(register.kind().typeKind(), register.local());
    }
  }

  void store(VReg register) {
    if (register.inFrame()) {
      pushFrame(register);
      if (register.kind().bytes() == 8) {
        cb.dup2_x2();
      } else {
        cb.dup2_x1();
      }
      cb.pop2();
      put(register.kind());
    } else {
      cb.storeLocal(register.kind().typeKind(), register.local());
    }
  }

  /** Pushes the address of a register in the thread's frame. */
  void pushFrame(VReg register) {
    pushFrame(register.frameOffset(), register.kind().bytes());
  }

  private void pushFrame(long offset, int bytes) {
    if (!interleaved) {
      pushFrame(offset);
      return;
    }
    cb.lload(FRAME_LOCAL);
    if (offset != 0) {
      cb.lload(FRAME_THREADS_LOCAL);
      cb.loadConstant(offset);
      cb.lmul();
      cb.ladd();
    }
    pushThread();
    cb.i2l();
    cb.loadConstant((long) bytes);
    cb.lmul();
    cb.ladd();
  }

  /** Pushes an address in the thread's frame, which lies in one piece. */
  void pushFrame(long offset) {
    cb.lload(FRAME_LOCAL);
    if (offset != 0) {
      cb.loadConstant(offset);
      cb.ladd();
    }
  }

  /** Reads at the address on the stack. */
  void get(JvmKind kind) {
    switch (kind) {
      case INT -> call(MemoryAccess.raw(), "getInt", "(J)I");
      case LONG -> call(MemoryAccess.raw(), "getLong", "(J)J");
      case FLOAT -> call(MemoryAccess.raw(), "getFloat", "(J)F");
      case DOUBLE -> call(MemoryAccess.raw(), "getDouble", "(J)D");
    }
  }

  /** Writes the value on the stack at the address below it. */
  void put(JvmKind kind) {
    switch (kind) {
      case INT -> call(MemoryAccess.raw(), "putInt", "(JI)V");
      case LONG -> call(MemoryAccess.raw(), "putLong", "(JJ)V");
      case FLOAT -> call(MemoryAccess.raw(), "putFloat", "(JF)V");
      case DOUBLE -> call(MemoryAccess.raw(), "putDouble", "(JD)V");
    }
  }

  void pushAll(List<Value> values, Type as) {
    values.forEach(value -> push(value, as));
  }

  /** Pushes a value as a type. */
  void push(Value value, Type as) {
    switch (value) {
      case VReg register -> {
        load(register);
        reinterpret(register.kind(), as);
        if (JvmKind.of(as) == JvmKind.INT) {
          extend(as);
        }
      }
      case Value.Int constant -> pushConstant(constant.value(), as);
      case Value.Real real -> pushReal(real, as);
      case Value.Not not -> {
        load(not.register());
        cb.iconst_1();
        cb.ixor();
      }
      case Value.Special(String name) -> {
        new SpecialCode(this).push(name);
        Type type = SpecialRegisters.typeOf(name).orElseThrow();
        if (type.bits() < 64 && as.bits() == 64) {
          widen(false);
        } else if (type.bits() == 64 && as.bits() < 64) {
          cb.l2i();
        }
        if (as.isFloat()) {
          reinterpret(as.bits() == 64 ? JvmKind.LONG : JvmKind.INT, as);
        }
      }
      case Value.LocalAddress(long offset) -> {
        pushBlock();
        pushThread();
        callBlock("localBase", "(I)J");
        cb.loadConstant(offset);
        cb.ladd();
        if (as.bits() < 64) {
          cb.l2i();
        }
      }
      case Value.Memory _, Value.Vector _ ->
          throw new RefusedException("a memory or vector operand stands where a value is needed");
    }
  }

  private void pushConstant(long value, Type as) {
    switch (as) {
      case F32 -> cb.loadConstant((float) value);
      case F64 -> cb.loadConstant((double) value);
      default -> {
        if (as.bits() == 64) {
          cb.loadConstant(value);
        } else if (as == Type.PRED) {
          cb.loadConstant(value != 0 ? 1 : 0);
        } else {
          cb.loadConstant(extended((int) value, as));
        }
      }
    }
  }

  private static int extended(int value, Type as) {
    if (as.bits() >= 32) {
      return value;
    }
    int shift = 32 - as.bits();
    return as.isSigned() ? value << shift >> shift : value << shift >>> shift;
  }

  private void pushReal(Value.Real real, Type as) {
    switch (as) {
      case F32 -> {
        float value = Float.intBitsToFloat(real.constant().singleBits());
        if (Float.isNaN(value)) {
          cb.loadConstant(real.constant().singleBits());
          call(FLOAT, "intBitsToFloat", "(I)F");
        } else {
          cb.loadConstant(value);
        }
      }
      case F64 -> {
        double value = Double.longBitsToDouble(real.constant().doubleBits());
        if (Double.isNaN(value)) {
          cb.loadConstant(real.constant().doubleBits());
          call(DOUBLE, "longBitsToDouble", "(J)D");
        } else {
          cb.loadConstant(value);
        }
      }
      default -> {
        if (as.bits() == 64) {
          cb.loadConstant(real.constant().doubleBits());
        } else {
          cb.loadConstant(extended(real.constant().singleBits(), as));
        }
      }
    }
  }

  /** Turns what is on the stack, of some kind, into the kind of a type without changing bits. */
  private void reinterpret(JvmKind from, Type as) {
    JvmKind to = JvmKind.of(as);
    if (from == to) {
      return;
    }
    switch (from) {
      case FLOAT -> call(FLOAT, "floatToRawIntBits", "(F)I");
      case DOUBLE -> call(DOUBLE, "doubleToRawLongBits", "(D)J");
      case INT, LONG -> {}
    }
    boolean wide = from == JvmKind.LONG || from == JvmKind.DOUBLE;
    boolean wantWide = to == JvmKind.LONG || to == JvmKind.DOUBLE;
    if (wide && !wantWide) {
      cb.l2i();
    } else if (!wide && wantWide) {
      widen(as.isSigned());
    }
    switch (to) {
      case FLOAT -> call(FLOAT, "intBitsToFloat", "(I)F");
      case DOUBLE -> call(DOUBLE, "longBitsToDouble", "(J)D");
      case INT, LONG -> {}
    }
  }

  /** Extends an int on the stack to a long. */
  void widen(boolean signed) {
    cb.i2l();
    if (!signed) {
      cb.loadConstant(0xFFFF_FFFFL);
      cb.land();
    }
  }

  /** Extends an int on the stack from the width of a type. */
  void extend(Type type) {
    switch (type.bits()) {
      case 8 -> {
        if (type.isSigned()) {
          cb.i2b();
        } else {
          cb.loadConstant(255);
          cb.iand();
        }
      }
      case 16 -> {
        if (type.isSigned()) {
          cb.i2s();
        } else {
          cb.i2c();
        }
      }
      default -> {}
    }
  }

  /** Pops a value of a type into a register, which may be wider; null drops the value. */
  void pop(VReg register, Type type) {
    JvmKind kind = JvmKind.of(type);
    if (register == null) {
      if (kind.bytes() == 8) {
        cb.pop2();
      } else {
        cb.pop();
      }
      return;
    }
    if (kind == JvmKind.INT && register.type().bits() > type.bits()) {
      extend(type);
    }
    JvmKind target = register.kind();
    if (kind != target) {
      reinterpret(kind, target, type.isSigned());
    }
    store(register);
  }

  private void reinterpret(JvmKind from, JvmKind to, boolean signed) {
    Type as =
        switch (to) {
          case INT -> Type.B32;
          case LONG -> signed ? Type.S64 : Type.B64;
          case FLOAT -> Type.F32;
          case DOUBLE -> Type.F64;
        };
    reinterpret(from, as);
  }

  /** Pops a predicate. */
  void popPredicate(VReg register) {
    pop(register, Type.PRED);
  }

  /**
   * Unless the flag on the stack is set, a loop that asks again lets other threads run at once:
   * only they can end its wait.
   */
  void giveWayUnlessDone() {
    Label done = cb.newLabel();
    cb.dup();
    cb.ifne(done);
    cb.iconst_1();
    cb.istore(YIELD_LOCAL);
    cb.labelBinding(done);
  }
}
