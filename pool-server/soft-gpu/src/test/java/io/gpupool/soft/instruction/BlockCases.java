// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/** Barriers and fences: what a thread writes before, its neighbour in the block reads after. */
final class BlockCases {
  private static final int THREADS = InstructionRun.THREADS;
  private static final List<long[]> TUPLES = tuples();

  private BlockCases() {}

  private static List<long[]> tuples() {
    List<long[]> tuples = new ArrayList<>();
    for (int i = 0; i < 4 * THREADS; i++) {
      // In the first block all are odd, in the second none.
      boolean odd = i < THREADS || i >= 2 * THREADS && Integer.bitCount(i * 7) % 2 == 1;
      tuples.add(new long[] {2L * i + (odd ? 1 : 0)});
    }
    return tuples;
  }

  static List<Case> of(Sample sample) {
    return switch (sample.opcode()) {
      case "membar", "fence" -> List.of(exchange(sample.text() + "; bar.sync 0;"));
      default -> barrier(sample);
    };
  }

  private static List<Case> barrier(Sample sample) {
    String text = sample.text();
    if (sample.has("cluster")) {
      String other = sample.has("arrive") ? "barrier.cluster.wait; " : "";
      String before = sample.has("wait") ? "barrier.cluster.arrive; " : "";
      return List.of(exchange(before + text + "; " + other));
    }
    if (sample.has("warp")) {
      return List.of(exchange(text + " 0xFFFFFFFF; bar.sync 0;"));
    }
    if (sample.has("arrive")) {
      // Three warps arrive, and one waits for them; the others wait for it after.
      String arrives = "@%%p %s 3, %d; @!%%p bar.sync 3, %d; bar.sync 0;";
      return List.of(
          exchange(
              ".reg .pred %p; setp.ge.u32 %p, %t, 32; "
                  + arrives.formatted(text, THREADS, THREADS)));
    }
    if (sample.has("red")) {
      return List.of(reduction(sample, ""), reduction(sample, " " + THREADS + ","));
    }
    return List.of(
        exchange(text + " 0;"),
        exchange(text + " 5, " + THREADS + ";"),
        exchange(".reg .b32 %id; mov.u32 %id, 7; " + text + " %id;"));
  }

  private static Case exchange(String barrier) {
    String body =
        "st.volatile.shared.b64 [%s], %a0; "
            + barrier
            + " .reg .b64 %q; .reg .b32 %r; add.u32 %r, %t, 1; and.b32 %r, %r, 127; "
            + "mov.u64 %q, shared; mad.wide.u32 %q, %r, 64, %q; ld.volatile.shared.b64 %x0, [%q]; "
            + "bar.sync 0;";
    Case.Judge judge =
        (tuples, results) -> {
          for (int i = 0; i < results.length; i++) {
            int next = i / THREADS * THREADS + (i + 1) % THREADS;
            if (results[i][0] != tuples.get(next)[0]) {
              return "thread " + i + " read " + results[i][0];
            }
          }
          return null;
        };
    return new Case(barrier, body, List.of(Type.B64), List.of(Type.B64), TUPLES, judge);
  }

  private static Case reduction(Sample sample, String count) {
    boolean counts = sample.has("popc");
    String body =
        ".reg .pred %odd; .reg .b64 %q; and.b64 %q, %a0, 1; setp.ne.u64 %odd, %q, 0; "
            + sample.text()
            + " %x0, 2,"
            + count
            + (count.isEmpty() ? "" : " ")
            + " %odd;";
    Type type = counts ? Type.B32 : Type.PRED;
    Case.Judge judge =
        (tuples, results) -> {
          for (int i = 0; i < results.length; i++) {
            int first = i / THREADS * THREADS;
            long odd =
                tuples.subList(first, first + THREADS).stream()
                    .filter(tuple -> (tuple[0] & 1) == 1)
                    .count();
            long expected =
                counts ? odd : sample.has("and") ? odd == THREADS ? 1 : 0 : odd > 0 ? 1 : 0;
            if (results[i][0] != expected) {
              return "thread " + i + " got " + results[i][0] + ", not " + expected;
            }
          }
          return null;
        };
    String name = sample.text() + count;
    return new Case(name, body, List.of(type), List.of(Type.B64), TUPLES, judge);
  }
}
