// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The text of one generated Java file. It is written only when it changed, so that builds stay
 * incremental.
 */
final class JavaSource {
  private static final String WORKER = "io.gpupool.cuda";

  private final String folder;
  private final String name;
  private final StringBuilder text = new StringBuilder(1 << 16);

  JavaSource(String name) {
    this(WORKER, name);
  }

  JavaSource(String packageName, String name) {
    folder = packageName.replace('.', '/');
    this.name = name;
    line("// Generated from the CUDA driver API contract; do not edit.");
    line("package %s;", packageName);
    line("");
  }

  JavaSource line(String format, Object... values) {
    text.append(values.length == 0 ? format : String.format(format, values)).append('\n');
    return this;
  }

  void write(Path outputFolder) throws IOException {
    Path file = outputFolder.resolve(folder).resolve(name + ".java");
    Files.createDirectories(file.getParent());
    String source = text.toString();
    if (!Files.exists(file) || !Files.readString(file).equals(source)) {
      Files.writeString(file, source);
    }
  }
}
