// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A watch for a file that says that this machine is about to be taken away, as agents of clouds and
 * scripts leave one. It has a thread of its own.
 */
final class DrainNotice {
  private static final long LOOK_MILLIS = TimeUnit.SECONDS.toMillis(1);
  private static final Logger LOG = LoggerFactory.getLogger(DrainNotice.class);

  private DrainNotice() {}

  /** Has {@code drain} run once, when the file is there. */
  static void await(Path file, Runnable drain) {
    Thread ignored =
        Thread.ofPlatform()
            .name("drain-notice")
            .daemon()
            .start(() -> {
              try {
                while (!Files.exists(file)) {
                  Thread.sleep(LOOK_MILLIS);
                }
                LOG.warn("{} is there: this machine is about to go, nothing more is granted", file);
                drain.run();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }
}
