// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A watch for files that appear in or disappear from a folder, which may itself appear and
 * disappear. If the kernel gives no more watches, it only waits. Used by one thread.
 */
final class FolderWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(FolderWatch.class);

  private final Path folder;
  private final Optional<WatchService> service;
  private Optional<WatchKey> key = Optional.empty();

  FolderWatch(Path folder) {
    this.folder = folder;
    service = open();
    register();
  }

  private static Optional<WatchService> open() {
    try {
      return Optional.of(FileSystems.getDefault().newWatchService());
    } catch (IOException e) {
      LOG.warn("changes of folders are noticed late, for the kernel tells nothing of them", e);
      return Optional.empty();
    }
  }

  private void register() {
    try {
      if (service.isPresent()) {
        key =
            Optional.of(
                folder.register(
                    service.get(),
                    StandardWatchEventKinds.ENTRY_CREATE,
                    StandardWatchEventKinds.ENTRY_DELETE));
      }
    } catch (IOException e) {
      // The folder does not exist now.
      key = Optional.empty();
    }
  }

  /** Returns after a change, or when the time is over. */
  void await(Duration longest) throws InterruptedException {
    if (key.filter(WatchKey::isValid).isEmpty()) {
      register();
    }
    if (service.isEmpty()) {
      Thread.sleep(longest);
      return;
    }
    WatchKey changed = service.get().poll(longest.toNanos(), TimeUnit.NANOSECONDS);
    if (changed != null) {
      changed.pollEvents();
      changed.reset();
    }
  }

  @Override
  public void close() {
    try {
      if (service.isPresent()) {
        service.get().close();
      }
    } catch (IOException e) {
      LOG.debug("a watch did not close", e);
    }
  }
}
