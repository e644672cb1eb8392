// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.access.Reductions;
import io.gpupool.soft.exec.access.TensorCopies;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.tensor.TensorElement;
import io.gpupool.soft.tensor.TensorMap;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.util.List;
import java.util.OptionalInt;

/** Emitter of copies of boxes by tensor maps, and the reductions that copies make. */
final class TensorCode {
  private static final ClassDesc COPIES = Code.desc(TensorCopies.class);
  private static final ClassDesc REDUCTIONS = Code.desc(Reductions.class);

  /** Block, thread, map, coordinates, shared address. */
  private static final String HEAD = "(" + Code.BLOCK.descriptorString() + "IJ[IJ";

  private final Code code;
  private final CodeBuilder cb;
  private final AddressCode addresses;

  TensorCode(Code code, AddressCode addresses) {
    this.code = code;
    cb = code.cb();
    this.addresses = addresses;
  }

  /** A box: {@code [shared], [map, {coordinates}], [mbarrier]} or the first two the other way. */
  boolean copy(Op op) {
    List<Value> args = op.args();
    if (!op.has("mbarrier::complete_tx::bytes")) {
      pushBox(op, args.get(0), args.get(1));
      cb.loadConstant(operation(op).orElse(TensorCopies.STORE));
      code.call(COPIES, "store", HEAD + "I)V");
      return true;
    }
    if (op.has("multicast::cluster")) {
      pushBox(op, args.get(1), args.get(0));
      pushAddress(op, args.get(2));
      code.push(args.get(3), Type.U16);
      code.call(Code.CLUSTER_MEMORY, "multicastBox", HEAD + "JI)V");
      return true;
    }
    addresses.push(op, args.get(2), Space.SHARED, Long.BYTES);
    pushBox(op, args.get(1), args.get(0));
    code.call(COPIES, "load", HEAD + ")I");
    cb.ineg();
    code.call(Code.BARRIERS, "expectBytes", "(JI)V");
    return true;
  }

  /** {@code [global], [shared], bytes}. */
  boolean reduce(Op op) {
    List<Value> args = op.args();
    OptionalInt operation = operation(op);
    if (operation.isEmpty() || !op.has("bulk_group")) {
      return false;
    }
    code.pushBlock();
    pushAddress(op, args.get(0));
    pushAddress(op, args.get(1));
    code.push(args.get(2), Type.U32);
    cb.loadConstant(element(op).ordinal());
    cb.loadConstant(operation.getAsInt());
    code.call(REDUCTIONS, "bulk", "(" + AddressCode.block() + "JJIII)V");
    return true;
  }

  private void pushBox(Op op, Value tensor, Value shared) {
    int rank = rank(op);
    if (!(tensor instanceof Value.Vector(List<Value> parts)) || parts.size() != 2) {
      throw new RefusedException(op.source(), "names no tensor map with coordinates");
    }
    List<Value> place =
        parts.get(1) instanceof Value.Vector(List<Value> elements)
            ? elements
            : List.of(parts.get(1));
    if (place.size() != rank) {
      throw new RefusedException(op.source(), "has " + place.size() + " coordinates, not " + rank);
    }
    code.pushBlock();
    code.pushThread();
    pushAddress(op, parts.getFirst());
    cb.loadConstant(rank).newarray(TypeKind.INT);
    for (int d = 0; d < rank; d++) {
      cb.dup().loadConstant(d);
      code.push(place.get(d), Type.S32);
      cb.iastore();
    }
    pushAddress(op, shared);
  }

  private void pushAddress(Op op, Value place) {
    if (!(place instanceof Value.Memory(Value base, long offset))) {
      throw new RefusedException(op.source(), "has no memory operand where one is needed");
    }
    addresses.pushLong(base, offset);
  }

  private static int rank(Op op) {
    for (int rank = 1; rank <= TensorMap.MAX_RANK; rank++) {
      if (op.has(rank + "d")) {
        return rank;
      }
    }
    throw new RefusedException(op.source(), "says nothing of dimensions");
  }

  private static OptionalInt operation(Op op) {
    return op.modifiers().stream()
        .mapToInt(Reductions::named)
        .filter(found -> found >= 0)
        .findFirst();
  }

  private static TensorElement element(Op op) {
    return switch (op.type()) {
      case B32, U32 -> TensorElement.U32;
      case S32 -> TensorElement.S32;
      case B64, U64 -> TensorElement.U64;
      case S64 -> TensorElement.S64;
      case F16 -> TensorElement.F16;
      case BF16 -> TensorElement.BF16;
      case F32 -> TensorElement.F32;
      case F64 -> TensorElement.F64;
      default -> throw new RefusedException(op.source(), "is not supported");
    };
  }
}
