// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.module;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.ptx.DeviceFunctions;
import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.Linkage;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Relocation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The linker of translation units: each name that more than one unit sees gets one definition, and
 * names that only their own units see are told apart. Used by one thread, once.
 */
final class Linker {
  /** Cannot stand in a PTX name, so that no unit can have made such a name itself. */
  private static final char UNIT_MARK = '@';

  private final List<PtxUnit> units;
  private final Map<String, Function> functions = new LinkedHashMap<>();
  private final Map<String, GlobalVariable> globals = new LinkedHashMap<>();
  private final Map<String, String> aliases = new LinkedHashMap<>();
  private final Map<Function, PtxUnit> home = new HashMap<>();

  Linker(List<PtxUnit> units) throws PtxException {
    this.units = units.size() == 1 ? units : toldApart(units);
    for (PtxUnit unit : this.units) {
      for (Function function : unit.parsed().functions().values()) {
        add(function, unit);
      }
      for (GlobalVariable global : unit.parsed().globals().values()) {
        add(global);
      }
      aliases.putAll(unit.parsed().aliases());
    }
    // An alias is declared as a function without a body, which the alias stands for.
    aliases.keySet().forEach(functions::remove);
    for (String name : globals.keySet()) {
      if (functions.containsKey(name)) {
        throw PtxException.linking("'" + name + "' is a function in one unit, data in another");
      }
    }
  }

  Map<String, Function> functions() {
    return functions;
  }

  Map<String, GlobalVariable> globals() {
    return globals;
  }

  Map<String, String> aliases() {
    return aliases;
  }

  /** The unit that a function of the result came from. */
  PtxUnit home(Function function) {
    return requireNonNull(home.get(function));
  }

  /** Renames names of one unit alone that also mean something in another. */
  private static List<PtxUnit> toldApart(List<PtxUnit> units) throws PtxException {
    List<PtxUnit> result = new ArrayList<>();
    for (int i = 0; i < units.size(); i++) {
      Set<String> elsewhere = new HashSet<>();
      for (int j = 0; j < units.size(); j++) {
        if (j != i) {
          elsewhere.addAll(units.get(j).names());
        }
      }
      Map<String, String> renames = new HashMap<>();
      for (String name : units.get(i).localNames()) {
        if (elsewhere.contains(name)) {
          renames.put(name, name + UNIT_MARK + (i + 1));
        }
      }
      result.add(units.get(i).renamed(renames));
    }
    return result;
  }

  private void add(Function function, PtxUnit unit) throws PtxException {
    Function earlier = functions.get(function.name());
    if (earlier == null || !earlier.defined()) {
      if (earlier == null || function.defined()) {
        functions.put(function.name(), function);
        home.put(function, unit);
      }
      return;
    }
    if (!function.defined()) {
      return;
    }
    boolean earlierWeak = earlier.linkage() == Linkage.WEAK;
    boolean weak = function.linkage() == Linkage.WEAK;
    if (!earlierWeak && !weak) {
      throw duplicate(function.name());
    }
    if (earlierWeak && !weak) {
      functions.put(function.name(), function);
      home.put(function, unit);
    }
  }

  private void add(GlobalVariable global) throws PtxException {
    GlobalVariable earlier = globals.get(global.name());
    if (earlier == null || rank(global) > rank(earlier)) {
      globals.put(global.name(), global);
      return;
    }
    boolean bothCommon = global.linkage() == Linkage.COMMON && earlier.linkage() == Linkage.COMMON;
    if (bothCommon && global.sizeBytes() > earlier.sizeBytes()) {
      globals.put(global.name(), global);
    } else if (rank(global) == STRONG && rank(earlier) == STRONG) {
      throw duplicate(global.name());
    }
  }

  private static final int STRONG = 3;

  private static int rank(GlobalVariable global) {
    return switch (global.linkage()) {
      case EXTERN -> 0;
      case WEAK -> 1;
      case COMMON -> 2;
      case LOCAL, VISIBLE -> STRONG;
    };
  }

  private static PtxException duplicate(String name) {
    return PtxException.linking("Multiple definition of '" + name + "'");
  }

  /**
   * Checks that all that is named is there.
   *
   * @throws PtxException with the names that are not
   */
  void requireComplete() throws PtxException {
    Set<String> missing = new LinkedHashSet<>();
    for (GlobalVariable global : globals.values()) {
      if (global.external()) {
        missing.add(global.name());
      }
      for (Relocation relocation : global.relocations()) {
        if (!globals.containsKey(relocation.symbol())) {
          requireFunction(relocation.symbol(), missing);
        }
      }
    }
    for (Function function : functions.values()) {
      References references = new References();
      references.addAll(function);
      references.functions().forEach(name -> requireFunction(name, missing));
    }
    if (!missing.isEmpty()) {
      throw PtxException.linking("Undefined reference to '" + String.join("', '", missing) + "'");
    }
  }

  private void requireFunction(String name, Set<String> missing) {
    Function function = functions.get(aliases.getOrDefault(name, name));
    boolean defined = function != null && function.defined();
    if (!defined && !DeviceFunctions.isProvided(name) && !DeviceFunctions.isOfRuntime(name)) {
      missing.add(name);
    }
  }
}
