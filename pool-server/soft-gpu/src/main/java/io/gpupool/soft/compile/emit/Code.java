// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.compile.ir.JvmKind;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.access.AddressTranslation;
import io.gpupool.soft.exec.access.ClusterMemory;
import io.gpupool.soft.exec.access.MemoryBarriers;
import io.gpupool.soft.exec.arithmetic.Conversions;
import io.gpupool.soft.exec.arithmetic.Doubles;
import io.gpupool.soft.exec.arithmetic.Floats;
import io.gpupool.soft.exec.arithmetic.Halves;
import io.gpupool.soft.exec.arithmetic.Integers;
import io.gpupool.soft.exec.arithmetic.SmallFloats;
import io.gpupool.soft.exec.arithmetic.VideoInstructions;
import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.memory.Atomics;
import io.gpupool.soft.exec.memory.NativeMemory;
import io.gpupool.soft.ptx.SpecialRegisters;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Emitter of JVM instructions that move PTX values between registers, constants and the operand
 * stack. On the stack a value has the JVM kind of the type asked for; types below 32 bits are
 * extended.
 */
public final class Code {
  public static final ClassDesc BLOCK = desc(ThreadBlock.class);
  static final ClassDesc NATIVE_MEMORY = desc(NativeMemory.class);
  public static final ClassDesc ADDRESS_TRANSLATION = desc(AddressTranslation.class);
  static final ClassDesc ATOMICS = desc(Atomics.class);
  public static final ClassDesc INTEGERS = desc(Integers.class);
  public static final ClassDesc FLOATS = desc(Floats.class);
  public static final ClassDesc DOUBLES = desc(Doubles.class);
  public static final ClassDesc HALVES = desc(Halves.class);
  public static final ClassDesc CONVERSIONS = desc(Conversions.class);
  public static final ClassDesc SMALL_FLOATS = desc(SmallFloats.class);
  public static final ClassDesc VIDEOS = desc(VideoInstructions.class);
  static final ClassDesc BARRIERS = desc(MemoryBarriers.class);
  public static final ClassDesc CLUSTER_MEMORY = desc(ClusterMemory.class);
  static final ClassDesc FLOAT = ConstantDescs.CD_Float;
  static final ClassDesc DOUBLE = ConstantDescs.CD_Double;
  public static final ClassDesc INTEGER = ConstantDescs.CD_Integer;
  public static final ClassDesc LONG = ConstantDescs.CD_Long;
  public static final ClassDesc MATH = desc(Math.class);

  /** Parameters of the generated method, and its own two counters. */
  public static final int BLOCK_LOCAL = 0;

  public static final int THREAD_LOCAL = 1;
  public static final int X_LOCAL = 2;
  public static final int RESUME_LOCAL = 5;
  public static final int POLL_LOCAL = 6;
  public static final int YIELD_LOCAL = 7;

  /** Address of the thread's frame, or of all frames if they are interleaved. */
  public static final int FRAME_LOCAL = 8;

  /** How many threads have a place in each row of interleaved frames. */
  public static final int FRAME_THREADS_LOCAL = 10;

  /** Behind what methods keep for themselves. */
  public static final int FIRST_REGISTER_LOCAL = 18;

  private final CodeBuilder cb;
  private final boolean interleaved;

  /**
   * Code of a kernel's method.
   *
   * @param interleaved whether the frames of all threads lie interleaved, a register of
   *     neighbouring threads side by side
   */
  public Code(CodeBuilder cb, boolean interleaved) {
    this.cb = cb;
    this.interleaved = interleaved;
  }

  public static ClassDesc desc(Class<?> type) {
    return type.describeConstable().orElseThrow();
  }

  public CodeBuilder cb() {
    return cb;
  }

  public void call(ClassDesc owner, String method, String descriptor) {
    cb.invokestatic(owner, method, MethodTypeDesc.ofDescriptor(descriptor));
  }

  /** Calls a method of the thread block, which lies below the arguments. */
  public void callBlock(String method, String descriptor) {
    cb.invokevirtual(BLOCK, method, MethodTypeDesc.ofDescriptor(descriptor));
  }

  public void pushBlock() {
    cb.aload(BLOCK_LOCAL);
  }

  public void pushThread() {
    cb.iload(THREAD_LOCAL);
  }

  public void blockField(String field, ClassDesc type) {
    pushBlock();
    cb.getfield(BLOCK, field, type);
  }

  public void load(VReg register) {
    if (register.inFrame()) {
      pushFrame(register);
      get(register.kind());
    } else {
      cb.loadLocal(register.kind().typeKind(), register.local());
    }
  }

  public void store(VReg register) {
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
  public void pushFrame(VReg register) {
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
  public void pushFrame(long offset) {
    cb.lload(FRAME_LOCAL);
    if (offset != 0) {
      cb.loadConstant(offset);
      cb.ladd();
    }
  }

  /** Reads at the address on the stack. */
  public void get(JvmKind kind) {
    switch (kind) {
      case INT -> call(MemoryAccess.nativeMemory(), "getInt", "(J)I");
      case LONG -> call(MemoryAccess.nativeMemory(), "getLong", "(J)J");
      case FLOAT -> call(MemoryAccess.nativeMemory(), "getFloat", "(J)F");
      case DOUBLE -> call(MemoryAccess.nativeMemory(), "getDouble", "(J)D");
    }
  }

  /** Writes the value on the stack at the address below it. */
  public void put(JvmKind kind) {
    switch (kind) {
      case INT -> call(MemoryAccess.nativeMemory(), "putInt", "(JI)V");
      case LONG -> call(MemoryAccess.nativeMemory(), "putLong", "(JJ)V");
      case FLOAT -> call(MemoryAccess.nativeMemory(), "putFloat", "(JF)V");
      case DOUBLE -> call(MemoryAccess.nativeMemory(), "putDouble", "(JD)V");
    }
  }

  public void pushAll(List<Value> values, Type as) {
    values.forEach(value -> push(value, as));
  }

  /** Pushes a value as a type. */
  public void push(Value value, Type as) {
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
  public void widen(boolean signed) {
    cb.i2l();
    if (!signed) {
      cb.loadConstant(0xFFFF_FFFFL);
      cb.land();
    }
  }

  /** Extends an int on the stack from the width of a type. */
  public void extend(Type type) {
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
  public void pop(@Nullable VReg register, Type type) {
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
  public void popPredicate(@Nullable VReg register) {
    pop(register, Type.PRED);
  }

  /**
   * Unless the flag on the stack is set, a loop that asks again lets other threads run at once:
   * only they can end its wait.
   */
  public void giveWayUnlessDone() {
    Label done = cb.newLabel();
    cb.dup();
    cb.ifne(done);
    cb.iconst_1();
    cb.istore(YIELD_LOCAL);
    cb.labelBinding(done);
  }
}
