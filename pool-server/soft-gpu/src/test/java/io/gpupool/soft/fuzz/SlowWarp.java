// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Warp-wide operations, done when all threads that take part have come. */
final class SlowWarp {
  private SlowWarp() {}

  static void pass(Instruction at, List<SlowThread> party) {
    Type type = at.opcode().startsWith("bar") ? Type.B32 : SlowThread.type(at);
    Operand source = at.operands().size() > 1 ? at.operands().get(1) : at.operands().get(0);
    Type read = at.opcode().equals("vote") ? Type.PRED : type;
    Map<SlowThread, Long> values = new HashMap<>();
    for (SlowThread thread : party) {
      values.put(thread, thread.value(source, read));
    }
    switch (at.opcode()) {
      case "shfl" -> shuffle(at, party, values);
      case "vote" -> vote(at, party, values);
      case "match" -> match(at, party, values);
      case "redux" -> reduce(at, type, party, values);
      default -> {}
    }
  }

  private static int lane(SlowThread thread) {
    return thread.index & 31;
  }

  private static void result(SlowThread thread, Instruction at, long value, boolean predicate) {
    if (at.operands().get(0) instanceof Operand.Pair(var first, var second)) {
      thread.set(first, value);
      thread.set(second, predicate ? 1 : 0);
    } else {
      thread.set(at.operands().get(0), value);
    }
  }

  private static void shuffle(
      Instruction at, List<SlowThread> party, Map<SlowThread, Long> values) {
    Map<Integer, Long> byLane = new HashMap<>();
    values.forEach((thread, value) -> byLane.put(lane(thread), value));
    long[][] results = new long[party.size()][];
    for (int i = 0; i < party.size(); i++) {
      SlowThread thread = party.get(i);
      int lane = lane(thread);
      int b = (int) thread.value(at.operands().get(2), Type.B32) & 31;
      int c = (int) thread.value(at.operands().get(3), Type.B32);
      int clamp = c & 31;
      int segment = c >> 8 & 31;
      int most = lane & segment | clamp & ~segment;
      int from;
      boolean valid;
      if (at.has("up")) {
        from = lane - b;
        valid = from >= most;
      } else if (at.has("down")) {
        from = lane + b;
        valid = from <= most;
      } else if (at.has("bfly")) {
        from = lane ^ b;
        valid = from <= most;
      } else {
        from = lane & segment | b & ~segment;
        valid = from <= most;
      }
      results[i] = new long[] {byLane.getOrDefault(valid ? from : lane, 0L), valid ? 1 : 0};
    }
    for (int i = 0; i < party.size(); i++) {
      result(party.get(i), at, results[i][0], results[i][1] != 0);
    }
  }

  private static void vote(Instruction at, List<SlowThread> party, Map<SlowThread, Long> values) {
    long ballot = 0;
    for (SlowThread thread : party) {
      ballot |= values.get(thread) << lane(thread);
    }
    long count = values.values().stream().filter(value -> value != 0).count();
    long result =
        at.has("ballot")
            ? ballot
            : at.has("all")
                ? (count == party.size() ? 1 : 0)
                : at.has("any")
                    ? (count > 0 ? 1 : 0)
                    : (count == 0 || count == party.size() ? 1 : 0);
    party.forEach(thread -> thread.set(at.operands().get(0), result));
  }

  private static void match(Instruction at, List<SlowThread> party, Map<SlowThread, Long> values) {
    long all = 0;
    for (SlowThread thread : party) {
      all |= 1L << lane(thread);
    }
    boolean same = values.values().stream().distinct().count() == 1;
    for (SlowThread thread : party) {
      if (at.has("all")) {
        result(thread, at, same ? all : 0, same);
        continue;
      }
      long mask = 0;
      for (SlowThread other : party) {
        mask |= values.get(other).equals(values.get(thread)) ? 1L << lane(other) : 0;
      }
      result(thread, at, mask, false);
    }
  }

  private static void reduce(
      Instruction at, Type type, List<SlowThread> party, Map<SlowThread, Long> values) {
    BigInteger result = null;
    for (SlowThread thread : party) {
      BigInteger next = Whole.number(type, values.get(thread));
      result =
          result == null
              ? next
              : at.has("add")
                  ? result.add(next)
                  : at.has("min")
                      ? result.min(next)
                      : at.has("max")
                          ? result.max(next)
                          : at.has("and")
                              ? result.and(next)
                              : at.has("or") ? result.or(next) : result.xor(next);
    }
    for (SlowThread thread : party) {
      thread.set(at.operands().get(0), result.longValue());
    }
  }
}
