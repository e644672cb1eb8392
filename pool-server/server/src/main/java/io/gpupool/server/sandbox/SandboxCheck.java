// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A check of the layers that this machine lets a process have. It has the launcher try them. */
final class SandboxCheck {
  static final String PLAN = "GPUPOOL_SANDBOX";
  private static final int PATIENCE_SECONDS = 20;
  private static final int MAX_OUTPUT_BYTES = 1 << 16;
  private static final String MISSING = "missing ";

  private SandboxCheck() {}

  /**
   * The layers of a plan that cannot be had, and why. Blocks.
   *
   * @throws IOException if the launcher cannot tell
   */
  static Map<SandboxLayer, String> run(Path launcher, List<String> plan) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(launcher.toString(), "--check");
    builder.environment().clear();
    builder.environment().put(PLAN, String.join("\n", plan));
    Process process = builder.redirectErrorStream(true).start();
    try {
      process.getOutputStream().close();
      String output =
          new String(process.getInputStream().readNBytes(MAX_OUTPUT_BYTES), StandardCharsets.UTF_8);
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new IOException(launcher + " failed: " + output.strip());
      }
      return parse(output);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    } finally {
      process.destroyForcibly();
    }
  }

  private static Map<SandboxLayer, String> parse(String output) {
    Map<SandboxLayer, String> missing = new EnumMap<>(SandboxLayer.class);
    for (String line : output.lines().filter(l -> l.startsWith(MISSING)).toList()) {
      String[] words = line.substring(MISSING.length()).split(" ", 2);
      SandboxLayer.of(words[0]).ifPresent(layer -> missing.putIfAbsent(layer, words[1]));
    }
    return missing;
  }
}
