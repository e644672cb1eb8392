// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.access;

import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.memory.Atomics;
import io.gpupool.soft.exec.memory.NativeMemory;
import io.gpupool.soft.tensor.TensorElement;
import java.util.List;

/** The reductions by which copies from shared to global memory combine elements. */
public final class Reductions {
  /** The operations by name; their numbers are their places here. */
  private static final List<String> NAMES =
      List.of("add", "min", "max", "inc", "dec", "and", "or", "xor");

  private Reductions() {}

  /** The number of an operation, or -1. */
  public static int named(String name) {
    return NAMES.indexOf(name);
  }

  /** Combines an element at a checked native address with another one, atomically. */
  static void apply(TensorElement element, long address, long bits, int operation) {
    int atomic = atomic(element, operation);
    if (atomic < 0) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_INSTRUCTION,
          "no copy has " + NAMES.get(operation) + " of elements of type " + element);
    }
    switch (element.bytes()) {
      case 2 -> Atomics.int16(address, (int) bits, atomic);
      case 4 -> Atomics.int32(address, (int) bits, atomic);
      default -> Atomics.int64(address, bits, atomic);
    }
  }

  /**
   * Combines numbers in shared memory with those in global memory.
   *
   * @param element ordinal of the {@link TensorElement}
   */
  public static void bulk(
      ThreadBlock block, long to, long from, int bytes, int element, int operation) {
    TensorElement type = TensorElement.values()[element];
    for (int at = 0; at < bytes; at += type.bytes()) {
      long source = AddressTranslation.shared(block, from + at, type.bytes());
      long target = AddressTranslation.global(block, to + at, type.bytes());
      long bits =
          switch (type.bytes()) {
            case 2 -> NativeMemory.getShort(source);
            case 4 -> NativeMemory.getInt(source);
            default -> NativeMemory.getLong(source);
          };
      apply(type, target, bits, operation);
    }
  }

  /** The operation of {@link Atomics}, or -1 where there is none. */
  private static int atomic(TensorElement element, int operation) {
    return switch (NAMES.get(operation)) {
      case "add" -> add(element);
      case "min" -> extreme(element, true);
      case "max" -> extreme(element, false);
      case "and" -> whole(element, Atomics.AND);
      case "or" -> whole(element, Atomics.OR);
      case "xor" -> whole(element, Atomics.XOR);
      case "inc" -> element == TensorElement.U32 ? Atomics.INCREMENT : -1;
      default -> element == TensorElement.U32 ? Atomics.DECREMENT : -1;
    };
  }

  private static int add(TensorElement element) {
    return switch (element) {
      case F32, F32_FTZ, F64 -> Atomics.ADD_FLOAT;
      case F16 -> Atomics.ADD_HALF;
      case BF16 -> Atomics.ADD_BFLOAT;
      default -> whole(element, Atomics.ADD);
    };
  }

  private static int extreme(TensorElement element, boolean min) {
    return switch (element) {
      case F16 -> min ? Atomics.MIN_HALF : Atomics.MAX_HALF;
      case BF16 -> min ? Atomics.MIN_BFLOAT : Atomics.MAX_BFLOAT;
      case S32, S64 -> min ? Atomics.MIN : Atomics.MAX;
      default -> whole(element, min ? Atomics.MIN_UNSIGNED : Atomics.MAX_UNSIGNED);
    };
  }

  private static int whole(TensorElement element, int operation) {
    return switch (element) {
      case U32, S32, U64, S64 -> operation;
      default -> -1;
    };
  }
}
