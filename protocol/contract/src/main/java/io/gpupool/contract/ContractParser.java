// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A reader of the files of the description; the grammar is in the README beside them. */
final class ContractParser {
  private static final String TOPIC = "topic ";
  private static final String DEVICE_POINTER = "CUdeviceptr";
  private static final Pattern GROUP = Pattern.compile("group (\\w+) \\((.*)\\)");
  private static final Pattern OP =
      Pattern.compile("op (\\w+)\\s+(posted|fenced)( raw)? \\((.*?)\\)(?: -> (.*))?");

  private final Path folder;
  private final Map<String, CudaType> types = new LinkedHashMap<>();
  private final Map<String, List<Field>> groups = new LinkedHashMap<>();
  private final List<Op> ops = new ArrayList<>();

  ContractParser(Path folder) {
    this.folder = folder;
  }

  Contract parse() throws IOException {
    readTypes(folder.resolve("types.txt"));
    readOps(folder.resolve("ops.txt"));
    EntryPointParser entryPoints = new EntryPointParser(folder);
    entryPoints.parse();
    for (EntryPoint entryPoint : entryPoints.entryPoints()) {
      if (entryPoint.isOp()) {
        ops.add(opOf(entryPoint));
      }
    }
    return new Contract(
        types,
        entryPoints.entryPoints(),
        entryPoints.includes(),
        groups,
        ops,
        new WireParser(folder, types).parse());
  }

  private void readTypes(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file);
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).strip();
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      String[] words = line.split("\\s+");
      if (words.length != 4) {
        throw new ContractException(file.toString(), i + 1, "expected: kind name size align");
      }
      CudaType.Kind kind = CudaType.Kind.valueOf(words[0].toUpperCase(Locale.ROOT));
      types.put(
          words[1],
          new CudaType(kind, words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3])));
    }
  }

  private void readOps(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file);
    @Nullable String topic = null;
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).strip();
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      if (line.startsWith(TOPIC)) {
        topic = line.substring(TOPIC.length());
        continue;
      }
      Matcher group = GROUP.matcher(line);
      if (group.matches()) {
        List<Field> fields = new ArrayList<>();
        for (String field : CommaList.split(group.group(2))) {
          fields.add(field(file, i + 1, field));
        }
        groups.put(group.group(1), fields);
        continue;
      }
      Matcher op = OP.matcher(line);
      if (!op.matches()) {
        throw new ContractException(file.toString(), i + 1, "not an op: " + line);
      }
      if (topic == null) {
        throw new ContractException(file.toString(), i + 1, "an op before the first topic");
      }
      List<Field> fields = new ArrayList<>();
      for (String field : CommaList.split(op.group(4))) {
        fields.addAll(fields(file, i + 1, field));
      }
      boolean fenced = op.group(2).equals("fenced");
      boolean raw = op.group(3) != null;
      Effect effect = effect(file, i + 1, op.group(5), fields);
      ops.add(new Op(ops.size() + 1, op.group(1), fenced, raw, fields, null, effect, topic));
    }
  }

  private static @Nullable Effect effect(
      Path file, int line, @Nullable String text, List<Field> fields) {
    if (text == null) {
      return EffectParser.implied(fields);
    }
    try {
      return EffectParser.parse(text);
    } catch (IllegalArgumentException e) {
      throw new ContractException(file.toString(), line, String.valueOf(e.getMessage()));
    }
  }

  /** Parses a field, or those of a group. */
  private List<Field> fields(Path file, int line, String text) {
    String[] words = text.split("\\s+");
    List<Field> group = words.length == 2 ? groups.get(words[0]) : null;
    if (group == null) {
      return List.of(field(file, line, text));
    }
    List<Field> members = new ArrayList<>();
    for (Field field : group) {
      String name =
          words[1]
              + field.name().substring(0, 1).toUpperCase(Locale.ROOT)
              + field.name().substring(1);
      Field.Member member = new Field.Member(words[0], words[1], members.isEmpty());
      members.add(new Field(field.role(), field.type(), name, member));
    }
    return members;
  }

  private static Field field(Path file, int line, String text) {
    List<String> words = new ArrayList<>(List.of(text.split("\\s+")));
    Field.Role role = Field.Role.IN;
    if (words.size() == 3) {
      role = Field.Role.valueOf(words.removeFirst().toUpperCase(Locale.ROOT));
    }
    if (words.size() != 2) {
      throw new ContractException(file.toString(), line, "not a field: " + text);
    }
    Field.Type type = Field.Type.valueOf(words.get(0).toUpperCase(Locale.ROOT));
    if (role == Field.Role.OUT ? type.isInputBuffer() : type == Field.Type.BYTES) {
      throw new ContractException(
          file.toString(), line, "input bytes are data, text or struct, output bytes: " + text);
    }
    return new Field(role, type, words.get(1));
  }

  private Op opOf(EntryPoint entryPoint) {
    List<Field> fields = new ArrayList<>();
    for (Parameter parameter : entryPoint.parameters()) {
      Field.Role role =
          parameter.direction() == Parameter.Direction.OUT ? Field.Role.OUT : Field.Role.IN;
      fields.add(new Field(role, fieldType(entryPoint, parameter), parameter.name()));
    }
    boolean fenced = entryPoint.callClass() == CallClass.FENCED;
    return new Op(
        ops.size() + 1,
        entryPoint.symbol(),
        fenced,
        false,
        fields,
        entryPoint,
        null,
        entryPoint.topic());
  }

  private Field.Type fieldType(EntryPoint entryPoint, Parameter parameter) {
    boolean input = parameter.direction() != Parameter.Direction.OUT;
    String base = input ? parameter.type() : parameter.baseType();
    if (input && base.equals(DEVICE_POINTER) != (parameter.span() != null)) {
      throw new ContractException(
          entryPoint.topic() + ".contract",
          0,
          entryPoint.symbol() + ": device(LENGTH) goes with CUdeviceptr: " + parameter.name());
    }
    return switch (base) {
      case "CUstream" -> Field.Type.STREAM;
      case "CUevent" -> Field.Type.EVENT;
      case "CUmodule" -> Field.Type.MODULE;
      case "CUfunction" -> Field.Type.FUNCTION;
      case "CUmemoryPool" -> Field.Type.POOL;
      case "int" -> Field.Type.I32;
      case "unsigned int", "unsigned short", "unsigned char" -> Field.Type.U32;
      case "size_t", "unsigned long long" -> Field.Type.U64;
      case "float" -> Field.Type.F32;
      default -> {
        CudaType type = types.get(base);
        if (type != null && type.kind() == CudaType.Kind.ENUM) {
          yield Field.Type.I32;
        }
        if (base.equals(DEVICE_POINTER)) {
          yield Field.Type.U64;
        }
        throw new ContractException(
            entryPoint.topic() + ".contract",
            0,
            entryPoint.symbol() + " cannot be marshalled: type of " + parameter.declaration());
      }
    };
  }
}
