// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.memory.WideAtomics;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Emitter of loads and stores of vectors. As on a card, up to eight bytes are one access, which no
 * other one can split, and so are 16 bytes where the instruction orders them: scans that look back
 * count on a status and a value that arrive together. Others of 16 bytes and more are element by
 * element, which the JIT compiler makes the best code of; nothing but a data race can tell.
 */
final class VectorCode {
  private static final ClassDesc WIDE = Code.desc(WideAtomics.class);
  private static final int PIECE_BYTES = Long.BYTES;
  private static final int WIDE_BYTES = 2 * PIECE_BYTES;

  private final Code code;
  private final CodeBuilder cb;
  private final AccessCode access;

  VectorCode(Code code, AccessCode access) {
    this.code = code;
    this.access = access;
    cb = code.cb();
  }

  /** Loads all elements from the address on the stack. */
  void load(List<@Nullable VReg> results, Type type, boolean ordered) {
    int bytes = results.size() * type.bytes();
    if (!isOne(bytes, ordered)) {
      loadEach(results, type, ordered);
      return;
    }
    if (bytes < WIDE_BYTES) {
      access.read(Type.bitsOfWidth(bytes), ordered);
      unpack(results, type);
      return;
    }
    int each = PIECE_BYTES / type.bytes();
    code.call(WIDE, "load", "(J)[J");
    cb.dup().iconst_0().laload();
    unpack(results.subList(0, each), type);
    cb.iconst_1().laload();
    unpack(results.subList(each, results.size()), type);
  }

  private static boolean isOne(int bytes, boolean ordered) {
    return bytes <= PIECE_BYTES || ordered && bytes == WIDE_BYTES;
  }

  private void loadEach(List<@Nullable VReg> results, Type type, boolean ordered) {
    for (int i = 0; i < results.size(); i++) {
      if (i + 1 < results.size()) {
        cb.dup2();
      }
      addOffset(i * type.bytes());
      Type moved = access.moved(type, results.get(i));
      access.read(moved, ordered);
      code.pop(results.get(i), moved);
    }
  }

  /** Stores all elements at the address on the stack. */
  void store(List<Value> values, Type type, boolean ordered) {
    int bytes = values.size() * type.bytes();
    if (!isOne(bytes, ordered)) {
      for (int i = 0; i < values.size(); i++) {
        if (i + 1 < values.size()) {
          cb.dup2();
        }
        addOffset(i * type.bytes());
        access.store(values.get(i), type, ordered);
      }
    } else if (bytes < WIDE_BYTES) {
      pack(values, type);
      access.write(Type.bitsOfWidth(bytes), ordered);
    } else {
      int each = PIECE_BYTES / type.bytes();
      pack(values.subList(0, each), type);
      pack(values.subList(each, values.size()), type);
      code.call(WIDE, "exchange", "(JJJ)[J");
      cb.pop();
    }
  }

  private void addOffset(int offset) {
    if (offset != 0) {
      cb.loadConstant((long) offset);
      cb.ladd();
    }
  }

  /** Pops a piece of memory into the registers of its elements, the lowest first. */
  private void unpack(List<@Nullable VReg> results, Type type) {
    boolean wide = results.size() * type.bytes() == PIECE_BYTES;
    for (int i = 0; i < results.size(); i++) {
      boolean last = i + 1 == results.size();
      if (!last) {
        if (wide) {
          cb.dup2();
        } else {
          cb.dup();
        }
      }
      shiftDown(i * type.bits(), wide);
      if (wide && type.bits() < 64) {
        cb.l2i();
      }
      Type moved = access.moved(type, results.get(i));
      access.fromBits(moved);
      code.pop(results.get(i), moved);
    }
  }

  private void shiftDown(int bits, boolean wide) {
    if (bits != 0) {
      cb.loadConstant(bits);
      if (wide) {
        cb.lushr();
      } else {
        cb.iushr();
      }
    }
  }

  /** Pushes a piece of memory made of elements, the lowest first. */
  private void pack(List<Value> values, Type type) {
    boolean wide = values.size() * type.bytes() == PIECE_BYTES;
    for (int i = 0; i < values.size(); i++) {
      access.pushBits(values.get(i), type);
      if (wide && type.bits() < 64) {
        code.widen(false);
      }
      if (i > 0) {
        cb.loadConstant(i * type.bits());
        if (wide) {
          cb.lshl().lor();
        } else {
          cb.ishl().ior();
        }
      }
    }
  }
}
