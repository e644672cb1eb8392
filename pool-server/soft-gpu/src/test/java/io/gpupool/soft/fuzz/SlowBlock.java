// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Label;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.Variable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One block of an interpreted kernel. In rounds, every thread runs until it waits, and what all
 * that it names have come to is then done.
 */
final class SlowBlock {
  private final SlowGrid grid;
  private final long index;
  private final List<SlowThread> threads = new ArrayList<>();
  private final Map<Variable, Long> shared = new HashMap<>();
  private long sharedTop = SlowMemory.SHARED_WINDOW;

  SlowBlock(SlowGrid grid, Function kernel, byte[] params, long index) {
    this.grid = grid;
    this.index = index;
    for (int i = 0; i < grid.launch().block().x() * grid.launch().block().y(); i++) {
      threads.add(new SlowThread(this, i, kernel, params));
    }
  }

  SlowMemory memory() {
    return grid.memory();
  }

  int lane(int thread) {
    return thread & 31;
  }

  /** Address of a variable of the block or the module. */
  long address(Variable variable) {
    if (variable.space() != io.gpupool.soft.ptx.Space.SHARED) {
      return grid.address(variable.name());
    }
    return shared.computeIfAbsent(
        variable,
        _ -> {
          int bytes = (int) Math.max(variable.sizeBytes(), SlowGrid.DYNAMIC_SHARED_BYTES);
          long at = sharedTop;
          sharedTop += -(-bytes & -4096L);
          memory().put(at, new byte[bytes]);
          return at;
        });
  }

  long functionAddress(String name) {
    return grid.functionAddress(name);
  }

  Function function(Operand operand, long address) {
    return operand instanceof Operand.FunctionAddress(String name)
        ? grid.function(name)
        : grid.function(address);
  }

  int place(Function function, Label label) {
    return grid.place(function, label);
  }

  long special(String name, int thread) {
    Launch launch = grid.launch();
    return switch (name) {
      case "%tid.x" -> thread % launch.block().x();
      case "%tid.y" -> thread / launch.block().x();
      case "%tid.z", "%ctaid.y", "%ctaid.z" -> 0;
      case "%ntid.x" -> launch.block().x();
      case "%ntid.y" -> launch.block().y();
      case "%ctaid.x" -> index;
      case "%nctaid.x" -> launch.grid().x();
      case "%ntid.z", "%nctaid.y", "%nctaid.z" -> 1;
      case "%laneid" -> lane(thread);
      case "%warpid" -> thread >> 5;
      case "%lanemask_eq" -> 1L << lane(thread);
      case "%lanemask_lt" -> (1L << lane(thread)) - 1;
      case "%lanemask_le" -> (2L << lane(thread)) - 1;
      case "%lanemask_gt" -> 0xFFFF_FFFFL & -(2L << lane(thread));
      case "%lanemask_ge" -> 0xFFFF_FFFFL & -(1L << lane(thread));
      default -> throw new IllegalStateException("no reference for " + name);
    };
  }

  void run() {
    while (threads.stream().anyMatch(thread -> !thread.ended)) {
      threads.forEach(SlowThread::run);
      boolean done = false;
      for (SlowThread thread : threads) {
        if (thread.waitsAt != null && tryToPass(thread)) {
          done = true;
        }
      }
      if (!done && threads.stream().anyMatch(thread -> !thread.ended)) {
        throw new IllegalStateException("deadlock: " + waits());
      }
    }
  }

  private String waits() {
    Map<String, List<Integer>> waits = new java.util.TreeMap<>();
    for (SlowThread thread : threads) {
      String at =
          thread.waitsAt == null ? "end" : thread.waitsAt.line() + " " + thread.waitsAt.text();
      waits.computeIfAbsent(at, _ -> new ArrayList<>()).add(thread.index);
    }
    return waits.toString();
  }

  /** Whether all that a waiting thread waits for have come; if so, they go on. */
  private boolean tryToPass(SlowThread first) {
    Instruction at = first.waitsAt;
    boolean warp = !at.opcode().startsWith("bar") || at.has("warp");
    List<SlowThread> party = new ArrayList<>();
    long mask = warp ? Whole.cut(32, first.value(at.operands().getLast(), Type.B32)) : 0;
    if (warp) {
      for (SlowThread thread : threads) {
        boolean named =
            thread.index >> 5 == first.index >> 5 && (mask >> lane(thread.index) & 1) != 0;
        if (named) {
          party.add(thread);
        }
      }
    } else {
      threads.stream().filter(thread -> !thread.ended).forEach(party::add);
    }
    for (SlowThread thread : party) {
      // Who waits here with another mask is in another turn of a loop.
      if (thread.waitsAt != at
          || warp && Whole.cut(32, thread.value(at.operands().getLast(), Type.B32)) != mask) {
        return false;
      }
    }
    if (warp) {
      SlowWarp.pass(at, party);
    } else if (at.has("red")) {
      reduce(at, party);
    }
    party.forEach(SlowThread::resume);
    return true;
  }

  private static void reduce(Instruction at, List<SlowThread> party) {
    Operand predicate = at.operands().getLast();
    int count = 0;
    for (SlowThread thread : party) {
      count += (int) thread.value(predicate, Type.PRED);
    }
    for (SlowThread thread : party) {
      long result =
          at.has("popc")
              ? count
              : at.has("and") ? (count == party.size() ? 1 : 0) : Math.min(count, 1);
      thread.set(at.operands().get(0), result);
    }
  }

  /** Places of the labels of a body. */
  static Map<Label, Integer> places(Function function) {
    Map<Label, Integer> places = new HashMap<>();
    for (int i = 0; i < function.body().size(); i++) {
      if (function.body().get(i) instanceof Statement.Mark(var label)) {
        places.put(label.definition(), i);
      }
    }
    return places;
  }
}
