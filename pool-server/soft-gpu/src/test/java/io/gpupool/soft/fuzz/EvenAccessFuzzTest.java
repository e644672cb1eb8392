// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.Launch;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;

/**
 * Random kernels whose loads have addresses that are sums and products of the thread's number, with
 * all the wrapping and widening there is, run as a row at a time and interpreted.
 */
class EvenAccessFuzzTest {
  private static final int KERNELS = Integer.getInteger("gpupool.fuzz.kernels", 500);
  private static final long SEED = Long.getLong("gpupool.fuzz.seed", 1);
  private static final int A_MODULE = 25;
  private static final int N = 12345;

  /** A load's address as PTX, and as a number of bytes from the input. */
  private static final class Address {
    private final Random random;
    private final String suffix;
    private final StringBuilder lines = new StringBuilder();
    private LongUnaryOperator value = thread -> thread;
    private int steps;

    Address(Random random, String suffix) {
      this.random = random;
      this.suffix = suffix;
      lines.append("mov.u32 ").append(name("a")).append(", %t;\n");
      narrow();
      widen();
      wide();
    }

    private String name(String kind) {
      return "%" + kind + suffix + "_" + steps;
    }

    private void step(String kind, String operation, LongUnaryOperator next) {
      String from = name(kind);
      steps++;
      lines.append(operation.formatted(name(kind), from)).append('\n');
      LongUnaryOperator before = value;
      value = thread -> next.applyAsLong(before.applyAsLong(thread));
    }

    private int number() {
      return switch (random.nextInt(4)) {
        case 0 -> random.nextInt(9) - 4;
        case 1 -> random.nextInt();
        case 2 -> 1 << random.nextInt(32);
        default -> random.nextInt(100);
      };
    }

    private void narrow() {
      for (int left = random.nextInt(5); left > 0; left--) {
        int number = number();
        int bits = random.nextInt(32);
        switch (random.nextInt(7)) {
          case 0 -> step("a", "add.s32 %s, %s, " + number + ";", v -> (int) v + number);
          case 1 -> step("a", "sub.u32 %s, %s, " + number + ";", v -> (int) v - number);
          case 2 -> step("a", "mul.lo.s32 %s, %s, " + number + ";", v -> (int) v * number);
          case 3 -> step("a", "shl.b32 %s, %s, " + bits + ";", v -> (int) v << bits);
          case 4 -> step("a", "neg.s32 %s, %s;", v -> -(int) v);
          case 5 -> step("a", "mad.lo.s32 %s, %s, " + number + ", %%n;", v -> (int) v * number + N);
          default -> step("a", "add.u32 %s, %s, %%n;", v -> (int) v + N);
        }
      }
    }

    private void widen() {
      boolean signed = random.nextBoolean();
      String from = name("a");
      steps++;
      LongUnaryOperator before = value;
      LongUnaryOperator widened =
          signed
              ? thread -> (int) before.applyAsLong(thread)
              : thread -> Integer.toUnsignedLong((int) before.applyAsLong(thread));
      if (random.nextBoolean()) {
        lines.append("cvt.%s %s, %s;\n".formatted(signed ? "s64.s32" : "u64.u32", name("x"), from));
        value = widened;
      } else {
        int factor = random.nextBoolean() ? number() : 1 << random.nextInt(5);
        long meant = signed ? factor : Integer.toUnsignedLong(factor);
        lines.append(
            "mul.wide.%s32 %s, %s, %d;\n".formatted(signed ? "s" : "u", name("x"), from, factor));
        value = thread -> widened.applyAsLong(thread) * meant;
      }
    }

    private void wide() {
      for (int left = random.nextInt(3); left > 0; left--) {
        int number = number();
        int bits = random.nextInt(6);
        switch (random.nextInt(4)) {
          case 0 -> step("x", "add.s64 %s, %s, " + number + ";", v -> v + number);
          case 1 -> step("x", "mul.lo.s64 %s, %s, " + number % 9 + ";", v -> v * (number % 9));
          case 2 -> step("x", "shl.b64 %s, %s, " + bits + ";", v -> v << bits);
          default -> step("x", "neg.s64 %s, %s;", v -> -v);
        }
      }
    }

    /** Lines that load, given that all threads' addresses fit in the input; empty if not. */
    String load(int threads, String into) {
      long least = Long.MAX_VALUE;
      long most = Long.MIN_VALUE;
      boolean even = true;
      for (int thread = 0; thread < threads; thread++) {
        long address = value.applyAsLong(thread);
        least = Math.min(least, address);
        most = Math.max(most, address);
        even &= (address - value.applyAsLong(0)) % 4 == 0;
      }
      if (most - least < 0 || most - least > KernelGenerator.INPUT_BYTES - 4) {
        return "";
      }
      long start =
          -least + (even ? 4 * random.nextInt(1 + (int) Math.min(8, room(most, least))) : 0);
      return lines
          + "add.s64 %%z%s, %s, %%in;\nadd.s64 %%y%s, %%z%s, %d;\nld.global.%s %s, [%%y%s];\n"
              .formatted(
                  suffix, name("x"), suffix, suffix, start, even ? "u32" : "u8", into, suffix);
    }

    private static long room(long most, long least) {
      return (KernelGenerator.INPUT_BYTES - 4 - (most - least)) / 4;
    }
  }

  private static Program program(int number, Random random) {
    Launch launch =
        new Launch(new Dim3(1 + random.nextInt(2)), new Dim3(1 + random.nextInt(80)), 0, false);
    String loads = "";
    while (loads.isEmpty()) {
      loads = new Address(random, "0").load(launch.block().x(), "%q0");
    }
    String second = new Address(random, "1").load(launch.block().x(), "%q1");
    int limit = random.nextBoolean() ? launch.block().x() : random.nextInt(launch.block().x() + 1);
    String name = "even" + number;
    String head =
        """
        .visible .entry %s(.param .u64 in, .param .u64 out, .param .u64 atom, .param .u32 n,
            .param .align 8 .b8 s[16])
        {
          .reg .pred %%p;
          .reg .b32 %%t, %%n, %%b, %%g, %%q<3>, %%a0_<9>, %%a1_<9>;
          .reg .b64 %%in, %%out, %%o, %%slot, %%x0_<12>, %%x1_<12>, %%y<2>, %%z<2>;
        """
            .formatted(name);
    String text =
        """
        mov.u32 %%t, %%tid.x;
        ld.param.u64 %%in, [in];
        ld.param.u64 %%out, [out];
        ld.param.u32 %%n, [n];
        setp.ge.u32 %%p, %%t, %d;
        @%%p bra DONE;
        mov.u32 %%q1, 7;
        %s%s
        xor.b32 %%q2, %%q0, %%q1;
        mov.u32 %%b, %%ctaid.x;
        mad.lo.s32 %%g, %%b, %d, %%t;
        mul.wide.u32 %%o, %%g, %d;
        add.s64 %%slot, %%out, %%o;
        st.global.u32 [%%slot+8], %%q2;
        DONE:
        ret;
        """
            .formatted(limit, loads, second, launch.block().x(), KernelGenerator.SLOT_BYTES);
    Program.Body body = new Program.Body(head, List.of(Node.fixed(text.split("\n"))));
    return new Program(name, launch, "", List.of(body));
  }

  @Test
  void kernels_withAddressesThatGrowEvenly_runAsTheyAreInterpreted() throws Exception {
    Random random = new Random(SEED);
    Trial trial = new Trial(false);
    List<String> differences = new ArrayList<>();
    for (int first = 0; first < KERNELS; first += A_MODULE) {
      List<Program> programs = new ArrayList<>();
      for (int i = 0; i < A_MODULE; i++) {
        programs.add(program(first + i, random));
      }
      trial
          .run(programs)
          .forEach(found -> differences.add(found.at() + "\n" + found.program().text()));
    }

    assertThat(differences).isEmpty();
  }
}
