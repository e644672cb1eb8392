// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.Map;

/**
 * The Java primitive that carries a C parameter. Addresses and handles are {@code long}. The only
 * structs by value are those of 64 bytes.
 */
enum JavaType {
  /** Passed by value; carried by the address of its bytes. */
  STRUCT("long", "LibCuda.STRUCT_64"),
  /** Passed on in a word, of which a function reads the lower half. */
  INT("int", "JAVA_LONG"),
  LONG("long", "JAVA_LONG"),
  FLOAT("float", "JAVA_FLOAT");

  private final String keyword;
  private final String layout;

  JavaType(String keyword, String layout) {
    this.keyword = keyword;
    this.layout = layout;
  }

  String keyword() {
    return keyword;
  }

  /** Returns the name of its layout in {@code java.lang.foreign.ValueLayout}. */
  String layout() {
    return layout;
  }

  static JavaType of(Parameter parameter, Map<String, CudaType> types) {
    if (parameter.isPointer()) {
      return LONG;
    }
    return switch (parameter.type()) {
      case "int", "unsigned int", "unsigned", "unsigned short", "unsigned char" -> INT;
      case "size_t", "unsigned long long" -> LONG;
      case "float" -> FLOAT;
      default -> {
        CudaType type = types.get(parameter.type());
        if (type != null && type.kind() == CudaType.Kind.STRUCT && type.sizeBytes() == 64) {
          yield STRUCT;
        }
        if (type == null || type.kind() == CudaType.Kind.STRUCT) {
          throw new IllegalArgumentException(
              "no Java type carries the parameter " + parameter.declaration());
        }
        yield type.sizeBytes() == 8 ? LONG : INT;
      }
    };
  }
}
