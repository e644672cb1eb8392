// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import io.gpupool.contract.Layout.LayoutField;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A reader of {@code wire.txt} and {@code results.txt}: numbers, layouts of structs, and results.
 */
final class WireParser {
  private static final Pattern HEAD = Pattern.compile("(enum|struct|union) (\\w+) ([\\w-]+)");
  private static final Pattern NUMBER = Pattern.compile("(\\w+) = (-?\\d+)");
  private static final Pattern FIELD = Pattern.compile("(.*?[ *])(\\w+)(?:\\[(\\d+)])?");
  private static final Pattern RESULT = Pattern.compile("(\\d+) (\\w+)( sticky)? \"([^\"]*)\"");
  private static final int POINTER_BYTES = 8;

  private final Path folder;
  private final Map<String, CudaType> types;
  private final List<NumberSet> numbers = new ArrayList<>();
  private final List<Layout> layouts = new ArrayList<>();
  private final List<CudaResultCode> results = new ArrayList<>();

  WireParser(Path folder, Map<String, CudaType> types) {
    this.folder = folder;
    this.types = types;
  }

  Wire parse() throws IOException {
    readWire(folder.resolve("wire.txt"));
    readResults(folder.resolve("results.txt"));
    return new Wire(numbers, layouts, results);
  }

  private void readWire(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file);
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      Matcher head = HEAD.matcher(line);
      if (!head.matches()) {
        throw new ContractException(
            file.toString(), i + 1, "not an enum, struct or union: " + line);
      }
      int first = i + 1;
      while (i + 1 < lines.size() && lines.get(i + 1).startsWith("  ")) {
        i++;
      }
      List<String> members = lines.subList(first, i + 1);
      if (head.group(1).equals("enum")) {
        numbers.add(numbers(file, first, head, members));
      } else {
        layouts.add(layout(file, first, head, members));
      }
    }
  }

  private static NumberSet numbers(Path file, int line, Matcher head, List<String> members) {
    Map<String, Integer> values = new LinkedHashMap<>();
    for (int i = 0; i < members.size(); i++) {
      Matcher number = NUMBER.matcher(members.get(i).strip());
      if (!number.matches()) {
        throw new ContractException(
            file.toString(), line + i + 1, "not a number: " + members.get(i));
      }
      values.put(number.group(1), Integer.parseInt(number.group(2)));
    }
    String prefix = head.group(3).equals("-") ? "" : head.group(3);
    return new NumberSet(head.group(2), prefix, values);
  }

  private Layout layout(Path file, int line, Matcher head, List<String> members) {
    List<LayoutField> fields = new ArrayList<>();
    boolean union = head.group(1).equals("union");
    int offset = 0;
    int size = 0;
    int align = 1;
    for (int i = 0; i < members.size(); i++) {
      Matcher field = FIELD.matcher(members.get(i).strip());
      if (!field.matches()) {
        throw new ContractException(
            file.toString(), line + i + 1, "not a field: " + members.get(i));
      }
      String type = field.group(1).strip();
      int bytes = sizeBytes(type);
      if (bytes == 0) {
        throw new ContractException(file.toString(), line + i + 1, "unknown type: " + type);
      }
      int count = field.group(3) == null ? 0 : Integer.parseInt(field.group(3));
      offset = union ? 0 : aligned(offset, alignBytes(type, bytes));
      align = Math.max(align, alignBytes(type, bytes));
      fields.add(new LayoutField(type, field.group(2), count, offset));
      offset += bytes * Math.max(count, 1);
      size = Math.max(size, offset);
    }
    return new Layout(
        head.group(1), head.group(2), head.group(3), fields, aligned(size, align), align);
  }

  /** Returns the layout of a type that the file has declared before. */
  private Optional<Layout> layoutOf(String type) {
    return layouts.stream().filter(layout -> layout.cType().equals(type)).findFirst();
  }

  private int alignBytes(String type, int sizeBytes) {
    return layoutOf(type).map(Layout::alignBytes).orElse(sizeBytes);
  }

  private int sizeBytes(String type) {
    if (type.endsWith("*")) {
      return POINTER_BYTES;
    }
    return switch (type) {
      case "uint8_t" -> 1;
      case "uint16_t" -> 2;
      case "uint32_t", "int32_t", "int", "unsigned int", "float" -> 4;
      case "uint64_t", "size_t" -> 8;
      default ->
          layoutOf(type)
              .map(Layout::sizeBytes)
              .orElseGet(() -> types.containsKey(type) ? types.get(type).sizeBytes() : 0);
    };
  }

  private static int aligned(int offset, int bytes) {
    return (offset + bytes - 1) / bytes * bytes;
  }

  private void readResults(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file);
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      Matcher result = RESULT.matcher(line);
      if (!result.matches()) {
        throw new ContractException(file.toString(), i + 1, "not a result: " + line);
      }
      int code = Integer.parseInt(result.group(1));
      if (!results.isEmpty() && code <= results.getLast().code()) {
        throw new ContractException(file.toString(), i + 1, "not in the order of the codes");
      }
      results.add(
          new CudaResultCode(code, result.group(2), result.group(3) != null, result.group(4)));
    }
  }
}
