// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.server.options.StateOptions;
import io.gpupool.server.state.etcd.EtcdOptions;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** The options of the places where a server keeps its state. */
final class StateServerOptions {
  @Option(
      names = "--state",
      paramLabel = "DIR|etcd://HOST[:PORT],.../PREFIX",
      description = {
        "where partitions, tenants, tokens and leases are kept: a folder of this server's, made if",
        "it is not there, or an etcd, which makes one pool of all servers that are given the same",
        "(default: nowhere, they are forgotten when the server ends)"
      })
  private @Nullable String state;

  @Option(
      names = "--history",
      paramLabel = "DIR",
      description = {
        "where this server keeps what the time and memory of its GPUs went to in the last day, a",
        "folder of its own (default: that of --state; with etcd nowhere, it begins anew when the",
        "server does)"
      })
  private @Nullable Path history;

  @Option(
      names = "--suspend-dir",
      paramLabel = "DIR",
      description = {
        "where the sessions of suspended leases are kept, encrypted, a folder of this server's",
        "(default: one in that of --state; with etcd and without --state no lease is suspended)"
      })
  private @Nullable Path suspend;

  @Option(
      names = "--run-dir",
      paramLabel = "DIR",
      description = {
        "where the server leaves the sessions that its next process takes over when it ends, a",
        "folder in memory that no other user reaches (default: one in /run/gpupool-server, else in",
        "$XDG_RUNTIME_DIR or /dev/shm; without --state sessions end with the server)"
      })
  private @Nullable Path run;

  @ArgGroup(exclusive = false, heading = "Reaching etcd:%n")
  private EtcdFiles etcd = new EtcdFiles();

  StateOptions options() {
    boolean isEtcd = state != null && state.startsWith(EtcdOptions.SCHEME);
    return new StateOptions(
        state == null || isEtcd ? null : Path.of(state),
        state != null && isEtcd ? etcd.options(state) : null,
        history,
        suspend,
        run);
  }
}
