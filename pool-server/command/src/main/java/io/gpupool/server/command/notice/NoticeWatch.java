// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command.notice;

import io.gpupool.runtime.StateChangeLogger;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A watch for a notice of a source, on a thread of its own, which ends with the first notice. */
public final class NoticeWatch {
  private static final Logger LOG = LoggerFactory.getLogger(NoticeWatch.class);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);

  private final NoticeSource source;
  private final Consumer<Notice> action;
  private final StateChangeLogger changes = new StateChangeLogger(LOG);

  private NoticeWatch(NoticeSource source, Consumer<Notice> action) {
    this.source = source;
    this.action = action;
  }

  /** Has the action run once, on the watch's thread, when there is a notice. */
  public static void start(NoticeSource source, Consumer<Notice> action) {
    Thread ignored =
        Thread.ofPlatform()
            .name("notice-watch")
            .daemon()
            .start(new NoticeWatch(source, action)::run);
  }

  private void run() {
    try {
      Optional<Notice> notice = look();
      while (notice.isEmpty()) {
        notice = look();
      }
      LOG.warn("{}: this machine is about to go, nothing more is granted", notice.get().text());
      action.accept(notice.get());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private Optional<Notice> look() throws InterruptedException {
    try {
      Optional<Notice> notice = source.look();
      if (notice.isEmpty()) {
        changes.info("no notice that this machine is about to go: it is looked for on and on");
        Thread.sleep(source.pause());
      }
      return notice;
    } catch (IOException e) {
      changes.warn("notices cannot be read, which is tried again: " + e.getMessage());
      Thread.sleep(AFTER_FAILURE);
      return Optional.empty();
    }
  }
}
