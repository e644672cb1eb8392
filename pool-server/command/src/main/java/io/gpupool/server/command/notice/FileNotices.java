// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command.notice;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * A file whose existence says that this machine is about to be taken away, as agents of clouds and
 * scripts leave one.
 */
public record FileNotices(Path file) implements NoticeSource {
  private static final Duration PAUSE = Duration.ofSeconds(1);

  @Override
  public Optional<Notice> look() {
    return Files.exists(file)
        ? Optional.of(new Notice(file + " is there", null))
        : Optional.empty();
  }

  @Override
  public Duration pause() {
    return PAUSE;
  }
}
