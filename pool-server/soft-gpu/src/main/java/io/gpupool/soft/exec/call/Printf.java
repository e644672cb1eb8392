// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.call;

import io.gpupool.soft.exec.access.AddressTranslation;
import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.memory.NativeMemory;
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** The formatter of device printf, by the rules of C. */
final class Printf {
  private static final int MAX_STRING = 1 << 16;

  /** What one call prints ends behind the conversion that makes it longer than this. */
  private static final int MAX_TEXT = 1 << 20;

  private final ThreadBlock block;
  private final int thread;
  private final StringBuilder out = new StringBuilder();
  private long argument;

  private Printf(ThreadBlock block, int thread, long arguments) {
    this.block = block;
    this.thread = thread;
    argument = arguments;
  }

  /**
   * Formats.
   *
   * @param format generic address of the format
   * @param arguments generic address of the packed arguments, each aligned to its own size
   */
  static String format(ThreadBlock block, int thread, long format, long arguments) {
    Printf printf = new Printf(block, thread, arguments);
    printf.run(string(block, thread, format));
    return printf.out.toString();
  }

  /** Reads a NUL-terminated string of device memory; NULL prints as in the C library. */
  static String string(ThreadBlock block, int thread, long address) {
    if (address == 0) {
      return "(null)";
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (int i = 0; i < MAX_STRING; i++) {
      byte b = NativeMemory.getByte(AddressTranslation.generic(block, thread, address + i, 1));
      if (b == 0) {
        break;
      }
      bytes.write(b);
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private void run(String format) {
    int i = 0;
    while (i < format.length() && out.length() < MAX_TEXT) {
      char c = format.charAt(i++);
      if (c != '%') {
        out.append(c);
        continue;
      }
      int start = i - 1;
      Spec spec = new Spec();
      i = spec.parse(format, i, this::nextInt);
      if (i > format.length()) {
        out.append(format, start, format.length());
        return;
      }
      if (!convert(spec)) {
        out.append(format, start, i);
      }
    }
  }

  /** Flags, width, precision, length and conversion of one {@code %}. */
  private static final class Spec {
    private boolean left;
    private boolean plus;
    private boolean space;
    private boolean alternate;
    private boolean zero;
    private int width;
    private int precision = -1;
    private int longs;
    private int shorts;
    private char conversion;

    private int parse(String format, int start, java.util.function.IntSupplier star) {
      int i = start;
      for (; i < format.length() && "-+ #0".indexOf(format.charAt(i)) >= 0; i++) {
        switch (format.charAt(i)) {
          case '-' -> left = true;
          case '+' -> plus = true;
          case ' ' -> space = true;
          case '#' -> alternate = true;
          default -> zero = true;
        }
      }
      if (i < format.length() && format.charAt(i) == '*') {
        width = star.getAsInt();
        left |= width < 0;
        width = Math.min(Math.abs(width), MAX_WIDTH);
        i++;
      }
      for (; i < format.length() && Character.isDigit(format.charAt(i)); i++) {
        width = Math.min(width * 10 + format.charAt(i) - '0', MAX_WIDTH);
      }
      if (i < format.length() && format.charAt(i) == '.') {
        precision = 0;
        i++;
        if (i < format.length() && format.charAt(i) == '*') {
          precision = Math.min(star.getAsInt(), MAX_WIDTH);
          i++;
        }
        for (; i < format.length() && Character.isDigit(format.charAt(i)); i++) {
          precision = Math.min(precision * 10 + format.charAt(i) - '0', MAX_WIDTH);
        }
      }
      for (; i < format.length() && "hlLqjzt".indexOf(format.charAt(i)) >= 0; i++) {
        if (format.charAt(i) == 'h') {
          shorts++;
        } else {
          longs++;
        }
      }
      if (i < format.length()) {
        conversion = format.charAt(i);
      }
      return i + 1;
    }

    private static final int MAX_WIDTH = 4096;
  }

  private boolean convert(Spec spec) {
    switch (spec.conversion) {
      case '%' -> out.append('%');
      case 'd', 'i' -> {
        long value = spec.longs > 0 ? nextLong() : narrow(nextInt(), spec.shorts, true);
        String digits = value < 0 ? Long.toString(value).substring(1) : Long.toString(value);
        number(spec, sign(spec, value < 0), digits);
      }
      case 'u', 'o', 'x', 'X' -> unsigned(spec);
      case 'c' -> pad(spec, "", String.valueOf((char) (nextInt() & 255)), false);
      case 's' -> {
        String text = string(block, thread, nextLong());
        boolean cut = spec.precision >= 0 && spec.precision < text.length();
        pad(spec, "", cut ? text.substring(0, spec.precision) : text, false);
      }
      case 'p' -> {
        long address = nextLong();
        pad(spec, "", address == 0 ? "(nil)" : "0x" + Long.toHexString(address), false);
      }
      case 'f', 'F', 'e', 'E', 'g', 'G', 'a', 'A' ->
          real(spec, Double.longBitsToDouble(nextLong()));
      default -> {
        return false;
      }
    }
    return true;
  }

  private void unsigned(Spec spec) {
    long value = spec.longs > 0 ? nextLong() : narrow(nextInt(), spec.shorts, false) & 0xFFFF_FFFFL;
    String digits =
        switch (spec.conversion) {
          case 'o' -> Long.toOctalString(value);
          case 'x' -> Long.toHexString(value);
          case 'X' -> Long.toHexString(value).toUpperCase(Locale.ROOT);
          default -> Long.toUnsignedString(value);
        };
    String prefix = "";
    if (spec.alternate && value != 0) {
      prefix =
          switch (spec.conversion) {
            case 'o' -> "0";
            case 'x' -> "0x";
            case 'X' -> "0X";
            default -> "";
          };
    }
    number(spec, prefix, digits);
  }

  private static long narrow(int value, int shorts, boolean signed) {
    return switch (shorts) {
      case 0 -> value;
      case 1 -> signed ? (short) value : value & 0xFFFF;
      default -> signed ? (byte) value : value & 0xFF;
    };
  }

  private static String sign(Spec spec, boolean negative) {
    return negative ? "-" : spec.plus ? "+" : spec.space ? " " : "";
  }

  private void number(Spec spec, String prefix, String digits) {
    String padded = digits;
    if (spec.precision == 0 && digits.equals("0")) {
      padded = "";
    } else if (spec.precision > digits.length()) {
      padded = "0".repeat(spec.precision - digits.length()) + digits;
    }
    pad(spec, prefix, padded, spec.zero && spec.precision < 0);
  }

  private void pad(Spec spec, String prefix, String body, boolean zeros) {
    int missing = spec.width - prefix.length() - body.length();
    String fill = missing <= 0 ? "" : (zeros && !spec.left ? "0" : " ").repeat(missing);
    if (spec.left) {
      out.append(prefix).append(body).append(fill);
    } else if (zeros) {
      out.append(prefix).append(fill).append(body);
    } else {
      out.append(fill).append(prefix).append(body);
    }
  }

  private void real(Spec spec, double value) {
    boolean negative = Double.doubleToRawLongBits(value) < 0;
    boolean upper = Character.isUpperCase(spec.conversion);
    String prefix = sign(spec, negative);
    double magnitude = Math.abs(value);
    boolean finite = magnitude <= Double.MAX_VALUE;
    String body;
    if (!finite) {
      body = Double.isNaN(value) ? "nan" : "inf";
    } else {
      int precision = spec.precision < 0 ? 6 : spec.precision;
      body =
          switch (Character.toLowerCase(spec.conversion)) {
            case 'f' -> fixed(magnitude, precision, spec.alternate);
            case 'e' -> scientific(magnitude, precision, spec.alternate);
            case 'g' -> general(magnitude, precision, spec.alternate);
            default -> hexadecimal(magnitude, spec.precision);
          };
    }
    pad(spec, prefix, upper ? body.toUpperCase(Locale.ROOT) : body, spec.zero && finite);
  }

  private static String fixed(double value, int precision, boolean point) {
    String text = new BigDecimal(value).setScale(precision, RoundingMode.HALF_EVEN).toPlainString();
    return point && precision == 0 ? text + "." : text;
  }

  private static String scientific(double value, int precision, boolean point) {
    BigDecimal exact = new BigDecimal(value);
    int exponent = 0;
    String digits = "0".repeat(precision + 1);
    if (exact.signum() != 0) {
      BigDecimal rounded =
          exact.round(new java.math.MathContext(precision + 1, RoundingMode.HALF_EVEN));
      exponent = rounded.precision() - rounded.scale() - 1;
      digits = rounded.unscaledValue().toString();
      digits =
          digits.length() > precision + 1
              ? digits.substring(0, precision + 1)
              : digits + "0".repeat(precision + 1 - digits.length());
    }
    String mantissa = digits.charAt(0) + (precision > 0 || point ? "." : "") + digits.substring(1);
    int size = Math.abs(exponent);
    return mantissa + "e" + (exponent < 0 ? "-" : "+") + (size < 10 ? "0" : "") + size;
  }

  private static String general(double value, int precision, boolean keepZeros) {
    int significant = Math.max(precision, 1);
    String text = scientific(value, significant - 1, false);
    int exponent = Integer.parseInt(text.substring(text.indexOf('e') + 1));
    if (exponent >= -4 && exponent < significant) {
      String plain = fixed(value, significant - 1 - exponent, false);
      return keepZeros ? plain : trimZeros(plain);
    }
    String mantissa = text.substring(0, text.indexOf('e'));
    return (keepZeros ? mantissa : trimZeros(mantissa)) + text.substring(text.indexOf('e'));
  }

  private static String trimZeros(String digits) {
    if (digits.indexOf('.') < 0) {
      return digits;
    }
    int end = digits.length();
    while (digits.charAt(end - 1) == '0') {
      end--;
    }
    return digits.substring(0, digits.charAt(end - 1) == '.' ? end - 1 : end);
  }

  private static String hexadecimal(double value, int precision) {
    if (value == 0) {
      return "0x0" + (precision > 0 ? "." + "0".repeat(precision) : "") + "p+0";
    }
    long bits = Double.doubleToRawLongBits(value);
    long exponent = (bits >>> 52) - 1023;
    long fraction = bits & (1L << 52) - 1;
    long leading = 1;
    if (exponent == -1023) {
      leading = 0;
      exponent = -1022;
    }
    if (precision >= 0 && precision < 13) {
      int drop = 4 * (13 - precision);
      long all = leading << 52 | fraction;
      long rest = all & (1L << drop) - 1;
      long half = 1L << drop - 1;
      all >>>= drop;
      if (rest > half || rest == half && (all & 1) != 0) {
        all++;
      }
      all <<= drop;
      leading = all >>> 52;
      fraction = all & (1L << 52) - 1;
    }
    String digits = String.format("%013x", fraction);
    int keep = 13;
    if (precision < 0) {
      while (keep > 0 && digits.charAt(keep - 1) == '0') {
        keep--;
      }
      digits = digits.substring(0, keep);
    } else {
      digits =
          precision <= 13 ? digits.substring(0, precision) : digits + "0".repeat(precision - 13);
    }
    return "0x"
        + leading
        + (digits.isEmpty() ? "" : "." + digits)
        + "p"
        + (exponent < 0 ? "" : "+")
        + exponent;
  }

  private int nextInt() {
    int value = NativeMemory.getInt(AddressTranslation.generic(block, thread, argument, 4));
    argument += 4;
    return value;
  }

  private long nextLong() {
    argument = argument + 7 & -8;
    long value = NativeMemory.getLong(AddressTranslation.generic(block, thread, argument, 8));
    argument += 8;
    return value;
  }
}
