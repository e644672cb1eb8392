// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.util.List;

/**
 * Instructions to run over tuples of arguments, and what must come of them.
 *
 * @param name what to call it when it fails
 * @param body PTX that reads {@code %a0}, {@code %a1} … and writes {@code %x0}, {@code %x1} …; each
 *     thread has 64 bytes at {@code %g} (global), {@code %s} (shared) and {@code %l} (local), and
 *     64 bytes of its block's constants in {@code constants} and of its kernel's parameter {@code
 *     bytes}
 * @param results types of the registers {@code %x0}, {@code %x1} …
 * @param arguments types of the registers {@code %a0}, {@code %a1} …
 * @param tuples bits of the arguments, one tuple a thread
 * @param judge says what is wrong
 */
record Case(
    String name,
    String body,
    List<Type> results,
    List<Type> arguments,
    List<long[]> tuples,
    Judge judge) {

  /** Looks at the results of all threads at once. */
  interface Judge {
    /** What is wrong, or null. */
    String wrong(List<long[]> tuples, long[][] results);
  }

  /** What one thread's results must be; {@link ExactFloat#NAN} is any NaN of a result's type. */
  interface Reference {
    long[] of(long[] arguments);
  }

  /** As above with one result. */
  interface Single {
    long of(long[] arguments);
  }

  /** What is wrong with one thread's results, or null. */
  interface Check {
    String wrong(long[] arguments, long[] results);
  }

  /** Every thread by itself. */
  static Judge each(Check check) {
    return (tuples, results) -> {
      for (int i = 0; i < results.length; i++) {
        String wrong = check.wrong(tuples.get(i), results[i]);
        if (wrong != null) {
          return hex(tuples.get(i)) + " gave " + hex(results[i]) + ", not " + wrong;
        }
      }
      return null;
    };
  }

  static Judge exact(List<Type> types, Reference reference) {
    return each((arguments, results) -> {
      long[] expected = reference.of(arguments);
      for (int i = 0; i < expected.length; i++) {
        if (!same(types.get(i), expected[i], results[i])) {
          return hex(expected);
        }
      }
      return null;
    });
  }

  static Judge exact(Type type, Single reference) {
    return exact(List.of(type), arguments -> new long[] {reference.of(arguments)});
  }

  /** Whether a result is the expected one; a packed type has no single NaN. */
  static boolean same(Type type, long expected, long actual) {
    if (expected == ExactFloat.NAN && type.isFloat()) {
      return ExactFloat.of(type).isNan(actual);
    }
    return (expected & mask(type)) == actual;
  }

  static long mask(Type type) {
    return type == Type.PRED ? 1 : type.bits() >= 64 ? -1L : (1L << type.bits()) - 1;
  }

  private static String hex(long[] values) {
    StringBuilder text = new StringBuilder();
    for (long value : values) {
      text.append(text.isEmpty() ? "" : " ");
      text.append(value == ExactFloat.NAN ? "NaN" : Long.toHexString(value));
    }
    return text.toString();
  }
}
