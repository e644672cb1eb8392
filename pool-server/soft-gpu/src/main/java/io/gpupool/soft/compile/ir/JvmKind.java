// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.ir;

import io.gpupool.soft.ptx.Type;
import java.lang.classfile.TypeKind;

/** The JVM type that holds a register while code runs. */
public enum JvmKind {
  INT(TypeKind.INT, 4),
  LONG(TypeKind.LONG, 8),
  FLOAT(TypeKind.FLOAT, 4),
  DOUBLE(TypeKind.DOUBLE, 8);

  private final TypeKind typeKind;
  private final int bytes;

  JvmKind(TypeKind typeKind, int bytes) {
    this.typeKind = typeKind;
    this.bytes = bytes;
  }

  public TypeKind typeKind() {
    return typeKind;
  }

  public int bytes() {
    return bytes;
  }

  /** The kind in which an instruction works on values of a type. */
  public static JvmKind of(Type type) {
    if (type == Type.F32) {
      return FLOAT;
    }
    if (type == Type.F64) {
      return DOUBLE;
    }
    return type.bits() == 64 ? LONG : INT;
  }
}
