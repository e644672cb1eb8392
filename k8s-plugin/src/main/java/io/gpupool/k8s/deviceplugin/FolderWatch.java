// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A watch for files that appear in or disappear from a folder, which may itself appear and
 * disappear. If the kernel gives no more watches, it only waits. Used by one thread.
 */
final class FolderWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(FolderWatch.class);

  private final Path folder;
  private final @Nullable WatchService service;
  private @Nullable WatchKey key;

  FolderWatch(Path folder) {
    this.folder = folder;
    service = open();
    register();
  }

  private static @Nullable WatchService open() {
    try {
      return FileSystems.getDefault().newWatchService();
    } catch (IOException e) {
      LOG.warn("changes of folders are noticed late, for the kernel tells nothing of them", e);
      return null;
    }
  }

  private void register() {
    try {
      if (service != null) {
        key =
            folder.register(
                service,
                StandardWatchEventKinds.ENTRY_CREATE,
                StandardWatchEventKinds.ENTRY_DELETE);
      }
    } catch (IOException e) {
      // The folder does not exist now.
      key = null;
    }
  }

  /** Returns after a change, or when the time is over. */
  void await(Duration longest) throws InterruptedException {
    if (key == null || !key.isValid()) {
      register();
    }
    if (service == null) {
      Thread.sleep(longest);
      return;
    }
    WatchKey changed = service.poll(longest.toNanos(), TimeUnit.NANOSECONDS);
    if (changed != null) {
      changed.pollEvents();
      changed.reset();
    }
  }

  @Override
  public void close() {
    try {
      if (service != null) {
        service.close();
      }
    } catch (IOException e) {
      LOG.debug("a watch did not close", e);
    }
  }
}
