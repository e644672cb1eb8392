// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A writer of {@code cuda_types.h}: the types of the driver API, so that no {@code cuda.h} is
 * needed. Structs stay incomplete, and the shim lays out those that it looks into; those passed by
 * value are bytes.
 */
final class ShimTypes {
  private final Contract contract;

  ShimTypes(Contract contract) {
    this.contract = contract;
  }

  void emit(Path outputFolder) throws IOException {
    CSource header = new CSource("cuda_types.h");
    header.line("#include <stddef.h>");
    header.line("#include <stdint.h>");
    header.line("");
    Set<String> byValue =
        contract.entryPoints().stream()
            .flatMap(e -> e.parameters().stream())
            .map(Parameter::type)
            .collect(Collectors.toSet());
    for (CudaType type : new TreeMap<>(contract.types()).values()) {
      emitType(header, type, byValue.contains(type.name()));
    }
    header.write(outputFolder);
  }

  private static void emitType(CSource header, CudaType type, boolean byValue) {
    String name = type.name();
    switch (type.kind()) {
      case HANDLE -> header.line("typedef struct %s_s *%s;", name, name);
      case ENUM -> header.line("typedef int %s;", name);
      case CALLBACK -> header.line("typedef void (*%s)(void);", name);
      case SCALAR -> header.line("typedef %s %s;", scalar(type), name);
      case STRUCT -> {
        header.line("typedef struct %s %s;", name, name);
        header.line("enum { %s_BYTES = %d };", name, type.sizeBytes());
        if (byValue) {
          header.line(
              "struct %s { _Alignas(%d) unsigned char bytes[%d]; };",
              name, type.alignBytes(), type.sizeBytes());
        }
      }
    }
  }

  private static String scalar(CudaType type) {
    if (type.name().equals("CUdevice")) {
      return "int";
    }
    return type.sizeBytes() == 8 ? "unsigned long long" : "unsigned int";
  }
}
