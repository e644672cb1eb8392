// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.ir;

import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One instruction of the graph.
 *
 * @param source the PTX instruction that it came from
 * @param results registers written; null for an unwanted one
 * @param args what is read, in PTX order
 */
public record Op(
    Instruction source,
    String opcode,
    List<String> modifiers,
    List<@Nullable VReg> results,
    List<Value> args) {

  /** Asks whether the launches of the calling block are done; a name that no PTX can have. */
  public static final String LAUNCHES_DONE = "@launchesDone";

  public boolean has(String modifier) {
    return modifiers.contains(modifier);
  }

  /** Type modifiers in order. */
  public List<Type> types() {
    List<Type> types = new ArrayList<>();
    for (String modifier : modifiers) {
      Type.named(modifier).ifPresent(types::add);
    }
    return types;
  }

  /** The last type modifier, which is the type worked on where there is only one. */
  public Type type() {
    List<Type> types = types();
    if (types.isEmpty()) {
      throw new RefusedException(source, "has no type");
    }
    return types.get(types.size() - 1);
  }

  /** The state space that a modifier names. */
  public Space space() {
    for (String modifier : modifiers) {
      switch (modifier) {
        case "global" -> {
          return Space.GLOBAL;
        }
        case "shared", "shared::cta", "shared::cluster" -> {
          return Space.SHARED;
        }
        case "local" -> {
          return Space.LOCAL;
        }
        case "const" -> {
          return Space.CONST;
        }
        case "param", "param::entry", "param::func" -> {
          return Space.PARAM;
        }
        default -> {}
      }
    }
    return Space.GENERIC;
  }

  /** Bytes that a load or store touches. */
  public int accessedBytes() {
    int count = opcode.equals("st") ? stored().size() : results.size();
    int named = has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
    int needed = type() == Type.B128 ? 2 * named : named;
    if (count != needed) {
      throw new RefusedException(
          source, "has " + count + " elements where " + needed + " are moved");
    }
    return elementType().bytes() * count;
  }

  /** A register of 128 bits is two of 64. */
  public Type elementType() {
    return type() == Type.B128 ? Type.B64 : type();
  }

  /** The values that a store writes. */
  public List<Value> stored() {
    return args.get(1) instanceof Value.Vector(List<Value> elements)
        ? elements
        : List.of(args.get(1));
  }

  /** Registers read. */
  public List<VReg> uses() {
    List<VReg> uses = new ArrayList<>();
    args.forEach(arg -> addUses(arg, uses));
    return uses;
  }

  private static void addUses(Value value, List<VReg> uses) {
    switch (value) {
      case VReg register -> uses.add(register);
      case Value.Not not -> uses.add(not.register());
      case Value.Memory memory -> addUses(memory.base(), uses);
      case Value.Vector vector -> vector.elements().forEach(element -> addUses(element, uses));
      case Value.Int _, Value.Real _, Value.Special _, Value.LocalAddress _ -> {}
    }
  }

  @Override
  public String toString() {
    return String.join(".", opcode, String.join(".", modifiers)) + " " + results + " <- " + args;
  }
}
