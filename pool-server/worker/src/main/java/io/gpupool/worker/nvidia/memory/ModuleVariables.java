// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia.memory;

import io.gpupool.soft.GpuException;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.soft.image.ImageTrait;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.VariableKind;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The variables of the modules that are loaded, which a driver places by itself. In another process
 * they have to come to the same addresses and begin with the same bytes, as device memory may point
 * to them. Guarded by its user.
 */
final class ModuleVariables {
  private final VariableReader reader;
  private final Map<Long, Loaded> modules = new LinkedHashMap<>();

  /**
   * A module.
   *
   * @param fixed the reason for which it cannot move; null: it can
   */
  private record Loaded(long context, List<Extent> variables, @Nullable String fixed) {}

  ModuleVariables(VariableReader reader) {
    this.reader = reader;
  }

  /**
   * Takes note of a module.
   *
   * @param plan takes each variable's address and first contents
   * @param computeCapability of the GPU, 10 * major + minor
   */
  void loaded(
      NumberPlan plan,
      long context,
      long module,
      long image,
      long imageBytes,
      int computeCapability) {
    DeviceImage read;
    try {
      read =
          DeviceImage.parse(
              MemorySegment.ofAddress(image).reinterpret(imageBytes), computeCapability);
    } catch (GpuException _) {
      modules.put(module, new Loaded(context, List.of(), "a module whose image cannot be read"));
      return;
    }
    String fixed = fixed(read);
    List<Extent> variables = new ArrayList<>();
    for (GlobalVariable variable : read.globals()) {
      if (variable.kind() == VariableKind.DATA && !variable.external()) {
        Optional<Extent> found = reader.find(module, variable.name());
        // A compiler leaves out what no kernel uses.
        found.ifPresent(variables::add);
        if (found.isPresent() && !note(plan, variable.name(), found.get()) && fixed == null) {
          fixed = "a variable that cannot be read: " + variable.name();
        }
      }
    }
    modules.put(module, new Loaded(context, variables, fixed));
  }

  private boolean note(NumberPlan plan, String name, Extent variable) {
    OptionalLong print = reader.print(variable.address(), variable.lengthBytes());
    plan.require(variable.address(), "the address of the variable " + name);
    plan.require(print.orElse(0), "what the variable " + name + " begins with");
    return print.isPresent();
  }

  private static @Nullable String fixed(DeviceImage image) {
    if (image.traits().contains(ImageTrait.HEAP)) {
      return "kernels with malloc, whose heap cannot be read";
    }
    return image.traits().contains(ImageTrait.CODE_ADDRESSES)
        ? "kernels that call functions by their addresses"
        : null;
  }

  void unloaded(long module) {
    modules.remove(module);
  }

  /** The modules of a context have gone with it. */
  void contextEnded(long context) {
    modules.values().removeIf(module -> module.context == context);
  }

  /** Returns what cannot move, if there is such a thing. */
  Optional<String> fixed() {
    return modules.values().stream().flatMap(module -> Stream.ofNullable(module.fixed)).findFirst();
  }

  /** Returns where the variables are. */
  List<Extent> extents() {
    return modules.values().stream().flatMap(module -> module.variables.stream()).toList();
  }
}
