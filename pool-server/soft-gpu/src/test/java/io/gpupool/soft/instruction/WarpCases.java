// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Operations of a whole warp, with all lanes and with some of them. Arguments: a value, an amount,
 * a clamp, and the mask of the lanes that take part, which is the same in a warp.
 */
final class WarpCases {
  private static final int LANES = 32;
  private static final List<Type> ARGUMENTS = List.of(Type.B64, Type.B32, Type.B32, Type.B32);

  /** What a lane that takes no part keeps. */
  private static final long ABSENT = 0xABCD_EF01L;

  /** A result that is left open. */
  private static final long ANY = Long.MIN_VALUE + 54321;

  private static final List<long[]> TUPLES = tuples();

  private WarpCases() {}

  /** What the lanes of one warp get; {@code lanes} holds those that take part. */
  private interface Warp {
    long[] of(List<long[]> arguments, int lane, List<Integer> lanes);
  }

  private static List<long[]> tuples() {
    Random random = new Random(5);
    List<Long> values = Edges.of(Type.U64);
    List<long[]> tuples = new ArrayList<>();
    long[] masks = {0xFFFF_FFFFL, 0x5A5A_F00FL, 0x8000_0000L, 0x0000_0001L, 0xFFFF_FFFFL};
    for (int warp = 0; warp < 80; warp++) {
      for (int lane = 0; lane < LANES; lane++) {
        long value =
            switch (warp % 4) {
              case 0 -> values.get(random.nextInt(values.size()));
              case 1 -> random.nextInt(3) - 1;
              case 2 -> values.get(warp % values.size());
              default -> random.nextLong();
            };
        int segment = new int[] {0, 16, 24, 28, 30, 31, random.nextInt(32)}[warp % 7];
        int clamp = warp % 3 == 0 ? 0x1F : warp % 3 == 1 ? 0 : random.nextInt(32);
        long control = segment << 8 | clamp;
        tuples.add(new long[] {value, random.nextInt(64), control, masks[warp % 5]});
      }
    }
    addWholeWarps(tuples, random);
    return tuples;
  }

  /** Adds warps whose lanes all take part with the same amount and clamp. */
  private static void addWholeWarps(List<long[]> tuples, Random random) {
    for (long control : new long[] {0x1F, 0, 0x181F, 0x1C03}) {
      for (long amount : new long[] {0, 1, 2, 5, 16, 31, 32, 63}) {
        for (int lane = 0; lane < LANES; lane++) {
          tuples.add(new long[] {random.nextLong(), amount, control, 0xFFFF_FFFFL});
        }
      }
    }
  }

  static List<Case> of(Sample sample) {
    return List.of(
        switch (sample.opcode()) {
          case "shfl" ->
              of(
                  sample,
                  List.of(Type.B32, Type.PRED),
                  " %x0|%x1, %v, %a1, %a2, %a3;",
                  (a, lane, lanes) -> shuffled(sample, a, lane, lanes));
          case "vote" ->
              of(
                  sample,
                  List.of(sample.has("ballot") ? Type.B32 : Type.PRED),
                  " %x0, %odd, %a3;",
                  (a, _, lanes) -> new long[] {vote(sample, a, lanes)});
          case "match" -> match(sample);
          case "redux" ->
              of(
                  sample,
                  List.of(Type.B32),
                  " %x0, %v, %a3;",
                  (a, _, lanes) -> new long[] {reduced(sample, a, lanes)});
          case "elect" ->
              of(
                  sample,
                  List.of(Type.B32, Type.PRED),
                  " %x0|%x1, %a3;",
                  (_, lane, lanes) ->
                      new long[] {lanes.getFirst(), lane == lanes.getFirst() ? 1 : 0});
          case "activemask" ->
              of(sample, List.of(Type.B32), " %x0;", (_, _, lanes) -> new long[] {mask(lanes)});
          default -> throw new IllegalStateException("no reference for " + sample.text());
        });
  }

  private static Case of(Sample sample, List<Type> results, String operands, Warp warp) {
    StringBuilder body =
        new StringBuilder(
            ".reg .pred %in, %odd; .reg .b32 %v, %h, %lane, %bit; mov.b64 {%v, %h}, %a0; "
                + "and.b32 %h, %v, 1; setp.ne.u32 %odd, %h, 0; mov.u32 %lane, %laneid; "
                + "mov.u32 %bit, 1; shl.b32 %bit, %bit, %lane; and.b32 %bit, %bit, %a3; "
                + "setp.ne.u32 %in, %bit, 0; ");
    for (int i = 0; i < results.size(); i++) {
      body.append(
          results.get(i) == Type.PRED
              ? "setp.ne.u32 %x" + i + ", 0, 0; "
              : "mov.b32 %x" + i + ", " + ABSENT + "; ");
    }
    body.append("@%in ").append(sample.text()).append(operands);
    Case.Judge judge =
        (tuples, found) -> {
          for (int first = 0; first < tuples.size(); first += LANES) {
            List<long[]> arguments = tuples.subList(first, first + LANES);
            List<Integer> lanes = lanes(arguments.getFirst()[3]);
            for (int lane = 0; lane < LANES; lane++) {
              long[] expected =
                  lanes.contains(lane)
                      ? warp.of(arguments, lane, lanes)
                      : results.stream()
                          .mapToLong(type -> type == Type.PRED ? 0 : ABSENT)
                          .toArray();
              for (int i = 0; i < expected.length; i++) {
                long bits = expected[i] & Case.mask(results.get(i));
                if (expected[i] != ANY && bits != found[first + lane][i]) {
                  return "lane %d of warp %d: result %d is %x, not %x"
                      .formatted(lane, first / LANES, i, found[first + lane][i], expected[i]);
                }
              }
            }
          }
          return null;
        };
    return new Case(sample.text(), body.toString(), results, ARGUMENTS, TUPLES, judge);
  }

  private static List<Integer> lanes(long mask) {
    List<Integer> lanes = new ArrayList<>();
    for (int lane = 0; lane < LANES; lane++) {
      if ((mask >>> lane & 1) == 1) {
        lanes.add(lane);
      }
    }
    return lanes;
  }

  private static long mask(List<Integer> lanes) {
    long mask = 0;
    for (int lane : lanes) {
      mask |= 1L << lane;
    }
    return mask;
  }

  private static long[] shuffled(Sample sample, List<long[]> a, int lane, List<Integer> lanes) {
    int by = (int) a.get(lane)[1] & 31;
    int clamp = (int) a.get(lane)[2] & 31;
    int segment = (int) a.get(lane)[2] >>> 8 & 31;
    int most = lane & segment | clamp & ~segment & 31;
    int source;
    boolean inside;
    switch (sample.modifiers().get(1)) {
      case "up" -> {
        source = lane - by;
        inside = source >= most;
      }
      case "down" -> {
        source = lane + by;
        inside = source <= most;
      }
      case "bfly" -> {
        source = lane ^ by;
        inside = source <= most;
      }
      default -> {
        source = lane & segment | by & ~segment & 31;
        inside = source <= most;
      }
    }
    int from = inside ? source : lane;
    // What a lane gives that takes no part is left open.
    return new long[] {lanes.contains(from) ? a.get(from)[0] : ANY, inside ? 1 : 0};
  }

  private static long vote(Sample sample, List<long[]> a, List<Integer> lanes) {
    List<Integer> odd = lanes.stream().filter(lane -> (a.get(lane)[0] & 1) == 1).toList();
    boolean all = odd.size() == lanes.size();
    if (sample.has("ballot")) {
      return mask(odd);
    }
    boolean holds =
        sample.has("all") ? all : sample.has("any") ? !odd.isEmpty() : all || odd.isEmpty();
    return holds ? 1 : 0;
  }

  private static Case match(Sample sample) {
    long bits = Case.mask(sample.type());
    String value = sample.type() == Type.B64 ? "%a0" : "%v";
    if (sample.has("any")) {
      return of(
          sample,
          List.of(Type.B32),
          " %x0, " + value + ", %a3;",
          (a, lane, lanes) ->
              new long[] {
                mask(
                    lanes.stream()
                        .filter(other -> ((a.get(other)[0] ^ a.get(lane)[0]) & bits) == 0)
                        .toList())
              });
    }
    return of(
        sample,
        List.of(Type.B32, Type.PRED),
        " %x0|%x1, " + value + ", %a3;",
        (a, lane, lanes) -> {
          boolean same =
              lanes.stream().allMatch(other -> ((a.get(other)[0] ^ a.get(lane)[0]) & bits) == 0);
          return new long[] {same ? mask(lanes) : 0, same ? 1 : 0};
        });
  }

  private static long reduced(Sample sample, List<long[]> a, List<Integer> lanes) {
    Type type = sample.type() == Type.B32 ? Type.U32 : sample.type();
    List<BigInteger> values =
        lanes.stream().map(lane -> IntegerCases.number(a.get(lane)[0], type)).toList();
    BigInteger result =
        switch (sample.modifiers().get(1)) {
          case "add" -> values.stream().reduce(BigInteger.ZERO, BigInteger::add);
          case "min" -> Collections.min(values);
          case "max" -> Collections.max(values);
          case "and" -> values.stream().reduce(BigInteger.valueOf(-1), BigInteger::and);
          case "or" -> values.stream().reduce(BigInteger.ZERO, BigInteger::or);
          default -> values.stream().reduce(BigInteger.ZERO, BigInteger::xor);
        };
    return result.longValue();
  }
}
