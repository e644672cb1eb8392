// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Barrier objects, asynchronous copies, cache hints, jumps by a table, and what has no effect. */
final class OtherCases {
  private static final List<Type> ONE = List.of(Type.B64);

  private OtherCases() {}

  static List<Case> of(Sample sample) {
    String text = sample.text();
    return switch (sample.opcode()) {
      case "prefetch" ->
          List.of(unchanged(text + " [" + (sample.has("local") ? "%l" : "%g") + "];"));
      case "prefetchu" -> List.of(unchanged(text + " [%g];"));
      case "applypriority", "discard" -> List.of(unchanged(text + " [%g+32], 128;"));
      case "brkpt", "griddepcontrol" -> List.of(unchanged(text + ";"));
      case "pmevent" -> List.of(unchanged(text + " 3;"));
      case "setmaxnreg" -> List.of(unchanged(text + " 64;"));
      case "nanosleep" ->
          List.of(
              unchanged(text + " 10;"), unchanged(".reg .b32 %n; mov.u32 %n, 1; " + text + " %n;"));
      case "createpolicy" -> List.of(policy(sample));
      case "brx" -> List.of(jump(sample));
      case "mbarrier" -> barrierObject(sample);
      case "cp" -> copy(sample);
      default -> throw new IllegalStateException("no reference for " + text);
    };
  }

  private static Case of(String name, String body, List<Type> results, Case.Reference reference) {
    return new Case(name, body, results, ONE, Edges.tuples(ONE), Case.exact(results, reference));
  }

  /** Memory and registers stay as they are. */
  private static Case unchanged(String instruction) {
    String body =
        "st.global.b64 [%g], %a0; st.local.b64 [%l], %a0; "
            + instruction
            + " mov.b64 %x0, %a0; ld.global.b64 %x1, [%g]; ld.local.b64 %x2, [%l];";
    List<Type> results = List.of(Type.B64, Type.B64, Type.B64);
    return of(instruction, body, results, a -> new long[] {a[0], a[0], a[0]});
  }

  /** A policy is good for a load. */
  private static Case policy(Sample sample) {
    String operands =
        sample.has("fractional")
            ? " %q, 0.5;"
            : sample.has("range") ? " %q, [%g], 32, 64;" : " %q, %a0;";
    String body =
        ".reg .b64 %q; "
            + sample.text()
            + operands
            + " st.global.b64 [%g], %a0; ld.global.L2::cache_hint.b64 %x0, [%g], %q;";
    return of(sample.text(), body, ONE, a -> a);
  }

  private static Case jump(Sample sample) {
    String body =
        ".reg .b64 %q; .reg .b32 %i; and.b64 %q, %a0, 3; cvt.u32.u64 %i, %q; "
            + "targets: .branchtargets ZERO, ONE, TWO, ONE; "
            + sample.text()
            + " %i, targets; ZERO: mov.b64 %x0, 10; bra DONE; ONE: mov.b64 %x0, 11; bra DONE; "
            + "TWO: mov.b64 %x0, 12; DONE: add.s64 %x0, %x0, 0;";
    return of(
        sample.text(), body, ONE, a -> new long[] {new long[] {10, 11, 12, 11}[(int) a[0] & 3]});
  }

  /** Each thread has a barrier object of its own at the end of its shared memory. */
  private static List<Case> barrierObject(Sample sample) {
    String text = sample.text();
    String init = ".reg .b64 %q; .reg .pred %p0, %p1; mbarrier.init.shared.b64 [%s+56], 2; ";
    String arrive = "mbarrier.arrive.shared.b64 %q, [%s+56]; ";
    String ask0 = "mbarrier.test_wait.shared.b64 %p0, [%s+56], %q; selp.b64 %x0, 1, 0, %p0; ";
    String ask1 = "mbarrier.test_wait.shared.b64 %p1, [%s+56], %q; selp.b64 %x1, 1, 0, %p1; ";
    // Generic forms take a generic address.
    boolean shared = sample.modifiers().stream().anyMatch(name -> name.startsWith("shared"));
    String at = shared ? "[%s+56]" : "[%o]";
    String generic = ".reg .b64 %o; cvta.shared.u64 %o, %s; add.s64 %o, %o, 56; ";
    String expect = "mbarrier.expect_tx.relaxed.cta.shared.b64 [%s+56], 16; ";
    String complete = "mbarrier.complete_tx.relaxed.cta.shared.b64 [%s+56], 16; ";
    String body =
        switch (sample.modifiers().getFirst()) {
          // One of two has arrived, then both.
          case "init" ->
              init.replaceAll("mbarrier.*", "")
                  + text
                  + " "
                  + at
                  + ", 2; "
                  + arrive
                  + ask0
                  + arrive
                  + ask1;
          case "inval" -> init + arrive + ask0 + arrive + ask1 + text + " " + at + ";";
          case "expect_tx" ->
              init + text + " " + at + ", 16; " + arrive + arrive + ask0 + complete + ask1;
          case "complete_tx" ->
              init + expect + arrive + arrive + ask0 + text + " " + at + ", 16; " + ask1;
          case "arrive", "arrive_drop" -> {
            if (sample.has("expect_tx")) {
              yield init + text + " %q, " + at + ", 16; " + arrive + ask0 + complete + ask1;
            }
            String count = sample.has("noComplete") ? ", 1" : "";
            yield init + text + " %q, " + at + count + "; " + ask0 + arrive + ask1;
          }
          case "test_wait", "try_wait" -> {
            String what = sample.has("parity") ? "0" : "%q";
            String first = text + " %p0, " + at + ", " + what + "; selp.b64 %x0, 1, 0, %p0; ";
            String second = text + " %p1, " + at + ", " + what + "; selp.b64 %x1, 1, 0, %p1; ";
            yield init + arrive + first + arrive + second;
          }
          default ->
              init
                  + arrive
                  + ".reg .b32 %n; "
                  + text
                  + " %n, %q; cvt.u64.u32 %x0, %n; sub.s64 %x0, %x0, 2; mov.b64 %x1, 1;";
        };
    List<Type> results = List.of(Type.B64, Type.B64);
    return List.of(of(text, (shared ? "" : generic) + body, results, _ -> new long[] {0, 1}));
  }

  private static List<Case> copy(Sample sample) {
    String text = sample.text();
    String policy = sample.has("L2::cache_hint") ? ", %w" : "";
    List<Case> cases = new ArrayList<>();
    if (sample.has("bulk")) {
      cases.add(bulk(sample, policy));
    } else if (sample.has("mbarrier")) {
      // Without .noinc the arrival is one more than the object counts.
      String body =
          ".reg .b64 %q, %o; .reg .pred %p0; mbarrier.init.shared.b64 [%s+56], 2; "
              + "cvta.shared.u64 %o, %s; add.s64 %o, %o, 56; "
              + "mbarrier.arrive.shared.b64 %q, [%s+56]; "
              + text
              + (text.contains("shared") ? " [%s+56]; " : " [%o]; ")
              + "mbarrier.test_wait.shared.b64 %p0, [%s+56], %q; selp.b64 %x0, 1, 0, %p0;";
      long done = sample.has("noinc") ? 1 : 0;
      cases.add(of(text, body, ONE, _ -> new long[] {done}));
    } else if (sample.has("wait_group") || sample.has("wait_all") || sample.has("commit_group")) {
      String operand = sample.has("wait_group") ? " 0;" : ";";
      cases.add(
          copied(text + operand, "cp.async.ca.shared.global [%s], [%g], 8; " + text + operand, 8));
    } else {
      for (int bytes : sample.has("cg") ? new int[] {16} : new int[] {4, 8, 16}) {
        String plain = text + " [%s], [%g], " + bytes;
        cases.add(copied(plain, plain + policy + "; cp.async.wait_all;", bytes));
        // Fewer bytes than are copied leave zeros behind them.
        String some = plain + ", 3" + policy + ";";
        cases.add(copied(some, some + " cp.async.wait_all;", -bytes));
      }
    }
    return cases;
  }

  /** Bytes of %a0 and its complement; if negative, but three of them are zeros. */
  private static Case copied(String name, String instruction, int bytes) {
    String body =
        ".reg .b64 %n, %m; not.b64 %n, %a0; mov.b64 %m, -1; st.global.b64 [%g], %a0; "
            + "st.global.b64 [%g+8], %n; st.shared.b64 [%s], %m; st.shared.b64 [%s+8], %m; "
            + instruction
            + " ld.shared.b64 %x0, [%s]; ld.shared.b64 %x1, [%s+8];";
    List<Type> results = List.of(Type.B64, Type.B64);
    return of(
        name,
        body,
        results,
        a -> {
          byte[] expected = new byte[16];
          for (int i = 0; i < 16; i++) {
            long from = i < 8 ? a[0] : ~a[0];
            byte value = (byte) (from >>> 8 * (i & 7));
            boolean zero = bytes < 0 && i >= 3;
            expected[i] = i >= Math.abs(bytes) ? -1 : zero ? 0 : value;
          }
          java.nio.ByteBuffer memory =
              java.nio.ByteBuffer.wrap(expected).order(java.nio.ByteOrder.LITTLE_ENDIAN);
          return new long[] {memory.getLong(0), memory.getLong(8)};
        });
  }

  private static Case bulk(Sample sample, String policy) {
    String text = sample.text();
    if (sample.has("prefetch")) {
      boolean tensor = sample.has("tensor");
      int rank = tensor ? sample.modifiers().get(4).charAt(0) - '0' : 0;
      String place = " [%g, {" + String.join(", ", Collections.nCopies(rank, "0")) + "}]";
      return unchanged(text + (tensor ? place : " [%g], 16") + policy + ";");
    }
    if (sample.has("commit_group") || sample.has("wait_group")) {
      return unchanged(text + (sample.has("wait_group") ? " 0;" : ";"));
    }
    String body;
    if (sample.has("bulk_group")) {
      body =
          "st.shared.b64 [%s], %a0; st.shared.b64 [%s+8], %a0; "
              + text
              + " [%g], [%s], 16"
              + policy
              + "; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; "
              + "ld.global.b64 %x0, [%g+8]; mov.b64 %x1, 1;";
    } else {
      boolean inside = sample.has("shared::cta") && !sample.has("global");
      body =
          ".reg .b64 %q, %n; .reg .pred %p0; mbarrier.init.shared.b64 [%s+56], 1; "
              + (inside ? "st.shared.b64 [%s+16], %a0; st.shared.b64 [%s+24], %a0; " : "")
              + "st.global.b64 [%g], %a0; st.global.b64 [%g+8], %a0; add.s64 %n, %s, 16; "
              + "mbarrier.arrive.expect_tx.shared.b64 %q, [%s+56], 16; "
              + text
              + (inside ? " [%s], [%n]" : " [%s], [%g]")
              + ", 16, [%s+56]"
              + policy
              + "; mbarrier.test_wait.shared.b64 %p0, [%s+56], %q; selp.b64 %x1, 1, 0, %p0; "
              + "ld.shared.b64 %x0, [%s+8];";
    }
    List<Type> results = List.of(Type.B64, Type.B64);
    return of(text, body, results, a -> new long[] {a[0], 1});
  }
}
