// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The bytes of device memory that a call touches from an address on, in terms of its parameters: a
 * row of elements, or rows of elements.
 *
 * @param pitch the parameter with the bytes from row to row; empty: one row
 * @param elements the parameter with the elements of a row
 * @param elementBytes the size of an element
 * @param rows the parameter with the number of rows; empty: one row
 */
public record DeviceSpan(String pitch, String elements, int elementBytes, String rows) {
  private static final Pattern ONE_ROW = Pattern.compile("(\\w+)(?: \\* (\\d+))?");
  private static final Pattern ROWS = Pattern.compile("(\\w+), (\\w+)(?: \\* (\\d+))?, (\\w+)");

  /** Reads {@code ELEMENTS * BYTES} or {@code PITCH, ELEMENTS * BYTES, ROWS}. */
  static DeviceSpan parse(String text) {
    Matcher one = ONE_ROW.matcher(text);
    if (one.matches()) {
      return new DeviceSpan("", one.group(1), elementBytes(one.group(2)), "");
    }
    Matcher several = ROWS.matcher(text);
    if (several.matches()) {
      return new DeviceSpan(
          several.group(1), several.group(2), elementBytes(several.group(3)), several.group(4));
    }
    throw new IllegalArgumentException("not a range of device memory: device(" + text + ")");
  }

  /** Returns the arguments of {@code ownsMemory} after the address, as values named by position. */
  String arguments(List<Parameter> parameters) {
    List<String> arguments = new ArrayList<>();
    arguments.add(pitch.isEmpty() ? "0" : value(pitch, parameters));
    arguments.add(value(elements, parameters));
    arguments.add(Integer.toString(elementBytes));
    arguments.add(rows.isEmpty() ? "1" : value(rows, parameters));
    return String.join(", ", arguments);
  }

  private static String value(String name, List<Parameter> parameters) {
    for (int i = 0; i < parameters.size(); i++) {
      if (parameters.get(i).name().equals(name)) {
        return "v" + i;
      }
    }
    throw new IllegalArgumentException("no parameter " + name + " beside a device address");
  }

  private static int elementBytes(String text) {
    return text == null ? 1 : Integer.parseInt(text);
  }
}
