// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The fundamental types of PTX. */
public enum Type {
  PRED("pred", Kind.PREDICATE, 1),
  B8("b8", Kind.BITS, 8),
  B16("b16", Kind.BITS, 16),
  B32("b32", Kind.BITS, 32),
  B64("b64", Kind.BITS, 64),
  B128("b128", Kind.BITS, 128),
  U8("u8", Kind.UNSIGNED, 8),
  U16("u16", Kind.UNSIGNED, 16),
  U32("u32", Kind.UNSIGNED, 32),
  U64("u64", Kind.UNSIGNED, 64),
  S8("s8", Kind.SIGNED, 8),
  S16("s16", Kind.SIGNED, 16),
  S32("s32", Kind.SIGNED, 32),
  S64("s64", Kind.SIGNED, 64),
  F16("f16", Kind.FLOAT, 16),
  BF16("bf16", Kind.FLOAT, 16),
  F32("f32", Kind.FLOAT, 32),
  TF32("tf32", Kind.FLOAT, 32),
  F64("f64", Kind.FLOAT, 64),
  F16X2("f16x2", Kind.FLOAT, 32),
  BF16X2("bf16x2", Kind.FLOAT, 32),
  F32X2("f32x2", Kind.FLOAT, 64),
  U16X2("u16x2", Kind.UNSIGNED, 32),
  S16X2("s16x2", Kind.SIGNED, 32),
  E4M3X2("e4m3x2", Kind.FLOAT, 16),
  E5M2X2("e5m2x2", Kind.FLOAT, 16);

  /** How a type's bits are read. */
  public enum Kind {
    PREDICATE,
    BITS,
    UNSIGNED,
    SIGNED,
    FLOAT
  }

  private static final Map<String, Type> BY_NAME = new HashMap<>();

  static {
    for (Type type : values()) {
      BY_NAME.put(type.ptxName, type);
    }
  }

  private final String ptxName;
  private final Kind kind;
  private final int bits;

  Type(String ptxName, Kind kind, int bits) {
    this.ptxName = ptxName;
    this.kind = kind;
    this.bits = bits;
  }

  /** Finds a type by its name without the dot. */
  public static Optional<Type> named(String name) {
    return Optional.ofNullable(BY_NAME.get(name));
  }

  /** The name without the dot. */
  public String ptxName() {
    return ptxName;
  }

  public Kind kind() {
    return kind;
  }

  public int bits() {
    return bits;
  }

  /** Bytes in memory; a predicate has none and counts as one. */
  public int bytes() {
    return Math.max(1, bits / 8);
  }

  public boolean isFloat() {
    return kind == Kind.FLOAT;
  }

  public boolean isSigned() {
    return kind == Kind.SIGNED;
  }

  /** Whether it is one number of 16 bits, or a pair of such. */
  public boolean isHalf() {
    return this == F16 || this == BF16 || this == F16X2 || this == BF16X2;
  }

  /** The type of untyped bits of a width of 1, 2, 4 or 8 bytes. */
  public static Type bitsOfWidth(int bytes) {
    return switch (bytes) {
      case 1 -> B8;
      case 2 -> B16;
      case 4 -> B32;
      default -> B64;
    };
  }
}
