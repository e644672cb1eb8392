// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.TokenText;
import io.netty.channel.EventLoopGroup;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The agent's connections, one a pool and credentials, closed when no program uses them any more.
 */
public final class PoolClients {
  private record Key(PoolAddress pool, PoolCredentials credentials) {}

  private static final class Entry {
    private final PoolClient client;
    private int users;

    Entry(PoolClient client) {
      this.client = client;
    }
  }

  private final EventLoopGroup loops;
  private final ClientSecurity security;
  private final ClientSecurity securityElsewhere;
  private final @Nullable Key keptOpen;

  @GuardedBy("this")
  private final Map<Key, Entry> entries = new HashMap<>();

  /** The connection to {@code pool} by {@code token} stays, so that programs attach fast. */
  public PoolClients(
      EventLoopGroup loops,
      ClientSecurity security,
      @Nullable PoolAddress pool,
      @Nullable String token) {
    this.loops = loops;
    this.security = security;
    securityElsewhere = security.withoutCertificate();
    keptOpen =
        pool == null
            ? null
            : new Key(
                security.secured(pool),
                PoolCredentials.toOwnPool(token == null ? null : new TokenText(token)));
  }

  /** A client that its user must give back. */
  public synchronized PoolClient take(PoolAddress pool, PoolCredentials credentials) {
    Entry entry =
        entries.computeIfAbsent(
            new Key(security.secured(pool), credentials),
            key -> new Entry(connect(pool, credentials)));
    entry.users++;
    return entry.client;
  }

  private PoolClient connect(PoolAddress pool, PoolCredentials credentials) {
    return new PoolClient(
        pool, credentials.ofAgent() ? security : securityElsewhere, loops, credentials.token());
  }

  public synchronized void giveBack(PoolClient client) {
    entries
        .entrySet()
        .removeIf(e -> {
          Entry entry = e.getValue();
          if (entry.client != client || --entry.users > 0) {
            return false;
          }
          if (e.getKey().equals(keptOpen)) {
            return false;
          }
          client.closeSoon();
          return true;
        });
  }

  public synchronized void close() {
    entries.values().forEach(entry -> entry.client.close());
    entries.clear();
  }
}
