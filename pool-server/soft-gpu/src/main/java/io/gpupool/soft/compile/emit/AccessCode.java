// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Type;
import java.lang.constant.ClassDesc;
import org.jspecify.annotations.Nullable;

/** Emitter of single reads and writes at a checked native address on the stack. */
final class AccessCode {
  private final Code code;

  AccessCode(Code code) {
    this.code = code;
  }

  private static ClassDesc owner(boolean ordered) {
    return ordered ? Code.NATIVE_MEMORY : MemoryAccess.nativeMemory();
  }

  /** The type to move: what the register holds, so that no bits change kind on the way. */
  Type moved(Type type, @Nullable VReg register) {
    if (register != null && register.type().bits() == type.bits()) {
      switch (register.kind()) {
        case FLOAT -> {
          return Type.F32;
        }
        case DOUBLE -> {
          return Type.F64;
        }
        case INT, LONG -> {
          return switch (type) {
            case F32, F16X2, BF16X2 -> Type.B32;
            case F64 -> Type.B64;
            case F16, BF16 -> Type.B16;
            default -> type;
          };
        }
      }
    }
    return type;
  }

  /**
   * Reads a value of a type.
   *
   * @param ordered whether later accesses of the thread stay behind it
   */
  void read(Type type, boolean ordered) {
    if (!ordered && type == Type.F32) {
      code.call(MemoryAccess.nativeMemory(), "getFloat", "(J)F");
      return;
    }
    if (!ordered && type == Type.F64) {
      code.call(MemoryAccess.nativeMemory(), "getDouble", "(J)D");
      return;
    }
    String verb = ordered ? "acquire" : "get";
    switch (type.bits()) {
      case 8 -> code.call(owner(ordered), verb + "Byte", "(J)B");
      case 16 -> code.call(owner(ordered), verb + "Short", "(J)S");
      case 32 -> code.call(owner(ordered), verb + "Int", "(J)I");
      default -> code.call(owner(ordered), verb + "Long", "(J)J");
    }
    fromBits(type);
  }

  /** Turns bits on the stack into a value of a type, extended to an int where it is shorter. */
  void fromBits(Type type) {
    switch (type) {
      case F32 -> code.call(Code.FLOAT, "intBitsToFloat", "(I)F");
      case F64 -> code.call(Code.DOUBLE, "longBitsToDouble", "(J)D");
      default -> code.extend(type);
    }
  }

  /**
   * Writes the value on the stack, which is of the type.
   *
   * @param ordered whether earlier accesses of the thread stay before it
   */
  void write(Type type, boolean ordered) {
    if (!ordered && type == Type.F32) {
      code.call(MemoryAccess.nativeMemory(), "putFloat", "(JF)V");
      return;
    }
    if (!ordered && type == Type.F64) {
      code.call(MemoryAccess.nativeMemory(), "putDouble", "(JD)V");
      return;
    }
    String verb = ordered ? "release" : "put";
    switch (type.bits()) {
      case 8 -> code.call(owner(ordered), verb + "Byte", "(JI)V");
      case 16 -> code.call(owner(ordered), verb + "Short", "(JI)V");
      case 32 -> code.call(owner(ordered), verb + "Int", "(JI)V");
      default -> code.call(owner(ordered), verb + "Long", "(JJ)V");
    }
  }

  /** Writes a value as a type. */
  void store(Value value, Type type, boolean ordered) {
    Type moved = moved(type, value instanceof VReg register ? register : null);
    if (!ordered && (moved == Type.F32 || moved == Type.F64)) {
      code.push(value, moved);
    } else {
      moved = Type.bitsOfWidth(type.bytes());
      pushBits(value, type);
    }
    write(moved, ordered);
  }

  /** Pushes the bits of a value of a type, extended with zeros to an int where it is shorter. */
  void pushBits(Value value, Type type) {
    boolean converts = value instanceof Value.Int && (type == Type.F32 || type == Type.F64);
    if (!converts) {
      code.push(value, Type.bitsOfWidth(type.bytes()));
      return;
    }
    code.push(value, type);
    if (type == Type.F32) {
      code.call(Code.FLOAT, "floatToRawIntBits", "(F)I");
    } else {
      code.call(Code.DOUBLE, "doubleToRawLongBits", "(D)J");
    }
  }
}
