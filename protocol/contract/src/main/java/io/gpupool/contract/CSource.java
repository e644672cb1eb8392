// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The text of one generated C file. It is written only when it changed, so that builds stay
 * incremental.
 */
final class CSource {
  private final String name;
  private final StringBuilder text = new StringBuilder(1 << 16);

  CSource(String name) {
    this.name = name;
    if (name.endsWith(".map")) {
      line("/* Generated from the CUDA driver API contract; do not edit. */");
      return;
    }
    line("// Generated from the CUDA driver API contract; do not edit.");
    if (name.endsWith(".h")) {
      line("#pragma once");
    }
  }

  CSource line(String format, Object... values) {
    text.append(values.length == 0 ? format : String.format(format, values)).append('\n');
    return this;
  }

  void write(Path outputFolder) throws IOException {
    Path file = outputFolder.resolve(name);
    Files.createDirectories(outputFolder);
    String source = text.toString();
    if (!Files.exists(file) || !Files.readString(file).equals(source)) {
      Files.writeString(file, source);
    }
  }
}
