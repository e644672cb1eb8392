// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.capacity.Membership;
import io.gpupool.server.capacity.Partitions;
import io.gpupool.server.control.AsyncStateStore;
import io.gpupool.server.control.ControlThread;
import io.gpupool.server.oidc.TokenVerifier;
import io.gpupool.server.options.ServerOptions;
import io.gpupool.server.options.StateOptions;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateStore;
import io.gpupool.server.state.etcd.EtcdOptions;
import io.gpupool.server.state.etcd.EtcdStore;
import io.gpupool.server.tenant.Audit;
import io.gpupool.server.tenant.BootstrapToken;
import io.gpupool.server.tenant.Tenants;
import io.gpupool.server.tenant.Tokens;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The persistent state of a pool and its administration: GPUs, partitions, tenants and tokens. */
final class PoolState {
  private final RecordStore records;
  private final @Nullable Membership membership;
  private final Capacity capacity;
  private final Audit audit;
  private final Tenants tenants;
  private final Partitions partitions;
  private final Tokens tokens;
  private final @Nullable Path adminToken;

  PoolState(ServerContext context, RecordStore records) throws IOException {
    this.records = records;
    ServerOptions options = context.options();
    ControlThread control = context.threads().control();
    membership =
        options.state().etcd() != null
            ? new Membership(records, context.name(), context.served().gpus())
            : null;
    capacity =
        membership != null
            ? new Capacity(membership, records)
            : new Capacity(context.served().gpus(), records);
    audit = new Audit(records, control, context.name());
    tenants = new Tenants(records, audit, control);
    partitions = new Partitions(records, audit, capacity);
    Optional<TokenVerifier> verifier =
        TokenVerifier.of(options.auth().oidc(), options.auth().kubernetes());
    verifier.ifPresent(opened -> context.steps().add(opened::close));
    tokens =
        new Tokens(records, audit, control, options.auth().needsTokens(), verifier.orElse(null));
    adminToken =
        options.auth().needsTokens()
            ? BootstrapToken.ensure(records, tokens, control, options.state().adminFolder())
                .orElse(null)
            : null;
  }

  /** Opens the records before anything is started that needs them. */
  static RecordStore openRecords(
      ServerOptions options, String name, ControlThread control, CloseSteps steps)
      throws IOException {
    StateStore store = openStore(options.state(), name, control);
    steps.add(store::close);
    return new RecordStore(store, RecordTypes.ALL);
  }

  private static StateStore openStore(StateOptions options, String name, ControlThread control)
      throws IOException {
    EtcdOptions etcd = options.etcd();
    if (etcd != null) {
      return new AsyncStateStore(EtcdStore.open(etcd, name), control);
    }
    Path folder = options.folder();
    return folder == null ? LocalStore.inMemory() : LocalStore.open(folder);
  }

  RecordStore records() {
    return records;
  }

  /** The servers of the cluster; empty: there is one server. */
  Optional<Membership> membership() {
    return Optional.ofNullable(membership);
  }

  Capacity capacity() {
    return capacity;
  }

  Audit audit() {
    return audit;
  }

  Tenants tenants() {
    return tenants;
  }

  Partitions partitions() {
    return partitions;
  }

  Tokens tokens() {
    return tokens;
  }

  /** A file with an admin's token, if one was made now because there was none. */
  Optional<Path> adminToken() {
    return Optional.ofNullable(adminToken);
  }
}
