// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Commands of this machine. */
final class Shell {
  /** What an ended command leaves. */
  record Ended(int status, String output, String errors) {}

  private Shell() {}

  /** Whose outputs go to files: what it leaves running must not keep this waiting. */
  static Ended run(Duration patience, Object... command) {
    List<String> line = Arrays.stream(command).map(Object::toString).toList();
    try {
      Path output = Files.createTempFile("output", "");
      Path errors = Files.createTempFile("errors", "");
      try {
        Process process =
            new ProcessBuilder(line)
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(output.toFile())
                .redirectError(errors.toFile())
                .start();
        if (!process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS)) {
          process.destroyForcibly();
          throw new AssertionError(line + " did not end within " + patience);
        }
        return new Ended(
            process.exitValue(), Files.readString(output, UTF_8), Files.readString(errors, UTF_8));
      } finally {
        Files.delete(output);
        Files.delete(errors);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
