// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.Label;
import io.gpupool.soft.ptx.Relocation;
import io.gpupool.soft.ptx.module.PtxModule;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The slow and obvious way to run a kernel: statement by statement, one thread at a time, on plain
 * numbers. Shares nothing with the compiler but the parser.
 */
final class SlowGrid {
  static final int DYNAMIC_SHARED_BYTES = 4096;
  private static final long FUNCTIONS = 1L << 36;

  private final PtxModule module;
  private final Launch launch;
  private final SlowMemory memory = new SlowMemory();
  private final Map<String, Long> globals = new HashMap<>();
  private final List<String> called = new ArrayList<>();
  private final Map<Function, Map<Label, Integer>> places = new HashMap<>();

  SlowGrid(PtxModule module, Launch launch) {
    this.module = module;
    this.launch = launch;
    for (GlobalVariable global : module.globals()) {
      byte[] bytes = new byte[(int) Math.max(1, global.sizeBytes())];
      System.arraycopy(global.initializer(), 0, bytes, 0, global.initializer().length);
      globals.put(global.name(), memory.add(bytes));
    }
    for (GlobalVariable global : module.globals()) {
      for (Relocation relocation : global.relocations()) {
        Long target = globals.get(relocation.symbol());
        long value = target != null ? target : functionAddress(relocation.symbol());
        memory.write(
            globals.get(global.name()) + relocation.offsetBytes(), 8, value + relocation.addend());
      }
    }
  }

  Launch launch() {
    return launch;
  }

  SlowMemory memory() {
    return memory;
  }

  long address(String global) {
    return globals.get(global);
  }

  long functionAddress(String name) {
    if (!called.contains(name)) {
      called.add(name);
    }
    return FUNCTIONS + 16L * called.indexOf(name);
  }

  Function function(long address) {
    return function(called.get((int) (address - FUNCTIONS) / 16));
  }

  Function function(String name) {
    return module.function(name).orElseThrow();
  }

  int place(Function function, Label label) {
    return places.computeIfAbsent(function, SlowBlock::places).get(label.definition());
  }

  void run(String kernel, byte[] params) {
    for (int block = 0; block < launch.grid().x(); block++) {
      new SlowBlock(this, function(kernel), params, block).run();
    }
  }
}
