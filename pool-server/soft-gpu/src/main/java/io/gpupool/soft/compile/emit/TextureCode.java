// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.access.Textures;
import io.gpupool.soft.exec.memory.Atomics;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.texture.Geometry;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Emitter of the instructions that read textures, and read and write surfaces. */
public final class TextureCode {
  /*
   * Operands in brackets come as a list: the object, a sampler in the older mode in which textures
   * and samplers are apart (not supported), and the coordinates.
   */
  private static final ClassDesc TEXTURES = Code.desc(Textures.class);

  private static final Map<String, Integer> QUERIES =
      Map.of(
          "width", Textures.WIDTH,
          "height", Textures.HEIGHT,
          "depth", Textures.DEPTH,
          "array_size", Textures.LAYERS,
          "num_mipmap_levels", Textures.LEVELS,
          "num_samples", Textures.SAMPLES,
          "normalized_coords", Textures.NORMALIZED);

  /** Block, object, geometry, layer. */
  private static final String HEAD = "(" + Code.BLOCK.descriptorString() + "JII";

  private static final List<String> CHANNELS = List.of("r", "g", "b", "a");

  private final Code code;
  private final CodeBuilder cb;

  public TextureCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  public boolean emit(Op op) {
    return switch (op.opcode()) {
      case "tex" -> read(op);
      case "tld4" -> gather(op);
      case "txq", "suq" -> query(op);
      case "suld" -> load(op);
      case "sust" -> store(op);
      default -> reduce(op);
    };
  }

  private boolean read(Op op) {
    boolean real = op.type() == Type.F32;
    boolean gradient = op.has("grad");
    boolean level = op.has("level");
    if (!pushHead(op, op.type()) || op.args().size() != (gradient ? 3 : level ? 2 : 1)) {
      return false;
    }
    if (gradient) {
      pushCoordinates(elements(op.args().get(1)), Type.F32);
      pushCoordinates(elements(op.args().get(2)), Type.F32);
      code.call(TEXTURES, "sampleWithGradient", HEAD + "FFFFFFFFF)V");
    } else if (real) {
      if (level) {
        code.push(op.args().get(1), Type.F32);
      } else {
        cb.fconst_0();
      }
      code.call(TEXTURES, "sample", HEAD + "FFFF)V");
    } else {
      if (level) {
        code.push(op.args().get(1), Type.S32);
      } else {
        cb.iconst_0();
      }
      code.call(TEXTURES, "fetch", HEAD + "IIII)V");
    }
    popChannels(op);
    return true;
  }

  private boolean gather(Op op) {
    int channel = CHANNELS.indexOf(op.modifiers().getFirst());
    if (channel < 0 || op.args().size() != 1 || !pushHead(op, Type.F32)) {
      return false;
    }
    cb.loadConstant(channel);
    code.call(TEXTURES, "gather", HEAD + "FFFI)V");
    popChannels(op);
    return true;
  }

  /** Pops what was read; a result behind the channels says whether the memory was there. */
  private void popChannels(Op op) {
    Type type = op.types().getFirst();
    int channels = op.has("v2") ? 2 : 4;
    for (int i = 0; i < op.results().size(); i++) {
      VReg result = op.results().get(i);
      if (i >= channels) {
        cb.iconst_1();
        code.popPredicate(result);
      } else if (result != null) {
        code.pushBlock();
        cb.loadConstant(type == Type.F16X2 ? 2 * i : i);
        String method =
            switch (type) {
              case F16X2 -> "halves";
              case F16 -> "half";
              default -> "channel";
            };
        code.call(TEXTURES, method, "(" + AddressCode.block() + "I)I");
        code.pop(result, type == Type.F16 ? Type.B16 : Type.B32);
      }
    }
  }

  private boolean query(Op op) {
    Integer what = null;
    for (String modifier : op.modifiers()) {
      what = what == null ? QUERIES.get(modifier) : what;
    }
    boolean texture = op.opcode().equals("txq");
    boolean level = op.has("level");
    if (what == null || op.args().size() != (level ? 2 : 1)) {
      return false;
    }
    code.pushBlock();
    pushObject(op, op.args().getFirst());
    if (texture) {
      if (level) {
        code.push(op.args().get(1), Type.S32);
      } else {
        cb.iconst_0();
      }
      cb.loadConstant(what);
      code.call(TEXTURES, "query", "(" + AddressCode.block() + "JII)I");
    } else {
      cb.loadConstant(what);
      code.call(TEXTURES, "querySurface", "(" + AddressCode.block() + "JI)I");
    }
    code.pop(op.results().getFirst(), Type.U32);
    return true;
  }

  private boolean load(Op op) {
    Type type = op.type();
    if (!op.has("b") || !pushHead(op, Type.S32)) {
      return false;
    }
    cb.loadConstant(type.bytes());
    cb.loadConstant(op.results().size());
    cb.loadConstant(outside(op));
    code.call(TEXTURES, "load", HEAD + "IIIIII)V");
    for (int i = 0; i < op.results().size(); i++) {
      VReg result = op.results().get(i);
      if (result != null) {
        code.pushBlock();
        cb.loadConstant(i);
        code.call(TEXTURES, "word", "(" + AddressCode.block() + "I)J");
        if (type.bits() < 64) {
          cb.l2i();
        }
        code.pop(result, type);
      }
    }
    return true;
  }

  private boolean store(Op op) {
    Type type = op.type();
    if (!op.has("b") || op.args().size() != 2) {
      return false;
    }
    List<Value> values = elements(op.args().get(1));
    for (int i = 0; i < values.size(); i++) {
      setWord(values.get(i), type, i);
    }
    if (!pushHead(op, Type.S32)) {
      return false;
    }
    cb.loadConstant(type.bytes());
    cb.loadConstant(values.size());
    cb.loadConstant(outside(op));
    code.call(TEXTURES, "store", HEAD + "IIIIII)V");
    return true;
  }

  private boolean reduce(Op op) {
    Type type = op.type();
    if (!op.has("b") || op.args().size() != 2) {
      return false;
    }
    setWord(op.args().get(1), type, 0);
    if (!pushHead(op, Type.S32)) {
      return false;
    }
    cb.loadConstant(type.bytes());
    cb.loadConstant(operation(op, type));
    cb.loadConstant(outside(op));
    code.call(TEXTURES, "reduce", HEAD + "IIIIII)V");
    return true;
  }

  private static int operation(Op op, Type type) {
    if (op.has("add")) {
      return Atomics.ADD;
    }
    if (op.has("and")) {
      return Atomics.AND;
    }
    if (op.has("or")) {
      return Atomics.OR;
    }
    if (type.isSigned()) {
      return op.has("min") ? Atomics.MIN : Atomics.MAX;
    }
    return op.has("min") ? Atomics.MIN_UNSIGNED : Atomics.MAX_UNSIGNED;
  }

  private void setWord(Value value, Type type, int index) {
    code.pushBlock();
    code.push(value, type.bits() == 64 ? Type.B64 : Type.B32);
    if (type.bits() < 64) {
      cb.i2l();
    }
    cb.loadConstant(index);
    code.call(TEXTURES, "setWord", "(" + AddressCode.block() + "JI)V");
  }

  private static int outside(Op op) {
    return op.has("clamp") ? Textures.CLAMP : op.has("zero") ? Textures.ZERO : Textures.TRAP;
  }

  /**
   * Pushes block, object, geometry, layer and three coordinates; false if the instruction has
   * another shape.
   */
  private boolean pushHead(Op op, Type coordinates) {
    Optional<Geometry> geometry = geometry(op);
    if (geometry.isEmpty()
        || !(op.args().getFirst() instanceof Value.Vector(List<Value> parts))
        || parts.size() != 2) {
      return false;
    }
    List<Value> place = new ArrayList<>(elements(parts.get(1)));
    int needed = geometry.get().coordinates() + (geometry.get().layered() ? 1 : 0);
    if (place.size() < needed) {
      return false;
    }
    code.pushBlock();
    pushObject(op, parts.getFirst());
    cb.loadConstant(geometry.get().ordinal());
    if (geometry.get().layered()) {
      code.push(place.removeFirst(), Type.S32);
    } else {
      cb.iconst_0();
    }
    pushCoordinates(place.subList(0, geometry.get().coordinates()), coordinates);
    return true;
  }

  private void pushCoordinates(List<Value> values, Type type) {
    for (int i = 0; i < 3; i++) {
      if (i < values.size()) {
        code.push(values.get(i), type);
      } else if (type == Type.F32) {
        cb.fconst_0();
      } else {
        cb.iconst_0();
      }
    }
  }

  private void pushObject(Op op, Value object) {
    if (!(object instanceof Value.Memory(Value base, long offset)) || offset != 0) {
      throw new RefusedException(op.source(), "names no texture or surface");
    }
    code.push(base, Type.U64);
  }

  private static List<Value> elements(Value value) {
    return value instanceof Value.Vector(List<Value> elements) ? elements : List.of(value);
  }

  private static Optional<Geometry> geometry(Op op) {
    for (Geometry geometry : Geometry.values()) {
      if (op.has(geometry.ptxName())) {
        return Optional.of(geometry);
      }
    }
    return Optional.empty();
  }
}
