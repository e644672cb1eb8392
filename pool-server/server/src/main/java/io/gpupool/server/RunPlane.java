// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.runtime.ProcessInfo;
import io.gpupool.server.driver.DriverOptions.Sharing;
import io.gpupool.server.options.ServerOptions;
import io.gpupool.server.options.StateOptions;
import io.gpupool.server.takeover.RunDirectory;
import io.gpupool.server.takeover.RunFolders;
import io.gpupool.server.takeover.SessionRecords;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The place where a server's process leaves its sessions for the next one, if there is one.
 *
 * @param folder null: sessions end with the process
 */
record RunPlane(@Nullable RunDirectory folder, SessionRecords records) {
  private static final Logger LOG = LoggerFactory.getLogger(RunPlane.class);

  private static final RunPlane NONE = new RunPlane(null, SessionRecords.none());

  /**
   * Opens the run directory of a server whose state is open, and thus there and its own.
   *
   * @throws IOException if it cannot be used; the message is for people
   */
  static RunPlane open(ServerOptions options, String name, CloseSteps steps) throws IOException {
    StateOptions state = options.state();
    // The workers of MPS end with its server, which is a child of this one.
    if (!state.isPersistent() || options.gpus().driver().sharing() == Sharing.mps) {
      return NONE;
    }
    RunDirectory folder =
        state.run() != null ? RunDirectory.open(state.run()) : openUsual(state, name);
    if (folder == null) {
      return NONE;
    }
    steps.add(folder::close);
    return new RunPlane(folder, new SessionRecords(folder));
  }

  /** Opens the first of the usual folders that can be made; null: none of them. */
  private static @Nullable RunDirectory openUsual(StateOptions state, String name)
      throws IOException {
    List<Path> folders = RunFolders.of(identity(state, name), ProcessInfo.USER_ID, System.getenv());
    for (Path folder : folders) {
      try {
        return RunDirectory.open(folder);
      } catch (FileSystemException e) {
        LOG.debug("no run directory at {}", folder, e);
      }
    }
    LOG.warn(
        "programs will not survive a restart of the server: none of {} can be made; give --run-dir",
        folders);
    return null;
  }

  private static String identity(StateOptions state, String name) throws IOException {
    return state.etcd() != null
        ? state.etcd().identity() + " " + name
        : Objects.requireNonNull(state.folder()).toRealPath().toString();
  }

  /** Returns whether there is one. */
  boolean isThere() {
    return folder != null;
  }
}
