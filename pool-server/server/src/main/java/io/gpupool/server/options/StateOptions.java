// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import io.gpupool.server.state.etcd.EtcdOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The places where a pool server keeps its state; without a folder and etcd, the state ends with
 * the server.
 *
 * @param folder the folder of the pool's state, for a pool of one server
 * @param etcd the etcd of the pool's state, for a pool of several servers
 * @param history the folder of the history of this server's GPUs; null: that of the state
 * @param suspend the folder of suspended sessions; null: beside the state
 * @param run the folder in which its process leaves its workers for the next one; null: the usual
 */
public record StateOptions(
    @Nullable Path folder,
    @Nullable EtcdOptions etcd,
    @Nullable Path history,
    @Nullable Path suspend,
    @Nullable Path run) {
  public static final StateOptions IN_MEMORY = new StateOptions(null, null, null, null, null);

  public StateOptions {
    if (run != null && folder == null && etcd == null) {
      throw new IllegalArgumentException(
          "--run-dir is for servers whose state outlives them: give --state, too");
    }
  }

  /** Returns whether the state outlives the server. */
  public boolean isPersistent() {
    return folder != null || etcd != null;
  }

  /** Returns the folder of the history; empty: it ends with the server. */
  public Optional<Path> historyFolder() {
    return Optional.ofNullable(history != null ? history : folder);
  }

  /** Returns the folder of suspended sessions; empty: there is none. */
  public Optional<Path> suspendFolder() {
    return Optional.ofNullable(suspend)
        .or(() -> Optional.ofNullable(folder).map(state -> state.resolve("suspended")));
  }

  /** Returns the folder in which a token is left for the first admin. */
  public Path adminFolder() {
    if (folder != null) {
      return folder;
    }
    Path usual = Path.of("/var/lib/gpupool");
    return Files.isWritable(Files.exists(usual) ? usual : usual.getParent()) ? usual : Path.of("");
  }
}
