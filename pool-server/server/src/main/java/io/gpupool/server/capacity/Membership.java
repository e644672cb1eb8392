// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.capacity;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The membership of servers in a pool of several. Each server has a record that is bound to it and
 * goes when it does. A server without one grants nothing of its own GPUs, and nobody grants
 * anything of them. Owned by the control thread.
 */
public final class Membership implements Members {
  private static final Logger LOG = LoggerFactory.getLogger(Membership.class);

  private final RecordStore records;
  private final String name;
  private final List<Gpu> own;
  private Map<String, ServerEntry> others = Map.of();
  private final Map<String, ServerEntry> gone = new TreeMap<>();
  private List<Gpu> gpus;
  private boolean registered;
  private boolean leaving;

  public Membership(RecordStore records, String name, List<Gpu> own) {
    this.records = records;
    this.name = name;
    this.own = List.copyOf(own);
    gpus = this.own;
    refresh();
  }

  /** Looks at who is there. */
  public void refresh() {
    Map<String, ServerEntry> now = new TreeMap<>();
    for (Map.Entry<String, Versioned<ServerEntry>> e :
        records.all(RecordTypes.SERVERS).entrySet()) {
      now.put(e.getKey(), e.getValue().value());
    }
    registered = now.remove(name) != null;
    if (now.equals(others)) {
      return;
    }
    for (String server : now.keySet()) {
      if (!others.containsKey(server)) {
        LOG.info("server {} is in the pool", server);
      }
    }
    for (String server : others.keySet()) {
      if (!now.containsKey(server)) {
        LOG.warn("server {} has left the pool", server);
      }
    }
    others.forEach((server, entry) -> gone.put(server, entry));
    gone.keySet().removeAll(now.keySet());
    others = Map.copyOf(now);
    gpus = new ArrayList<>(own);
    now.values().forEach(server -> gpus.addAll(server.gpus()));
    // Who waits for these goes on waiting: most servers come back.
    gone.values().forEach(server -> gpus.addAll(server.gpus()));
  }

  /** Whether this server's own record is there. */
  public boolean isRegistered() {
    return registered;
  }

  /** Puts this server's record; from then on its GPUs are granted. */
  public void register(ServerEntry self) throws StateException {
    if (leaving) {
      return;
    }
    records.update(transaction -> {
      transaction.putBound(RecordTypes.SERVERS, name, self);
    });
    registered = true;
    LOG.info("this server, {}, is in the pool", name);
  }

  /** Takes it away for good. */
  public void leave() {
    leaving = true;
    try {
      records.update(transaction -> {
        transaction.delete(RecordTypes.SERVERS, name);
      });
    } catch (StateException e) {
      LOG.info("the pool finds out by itself that this server leaves: {}", e.getMessage());
    }
    registered = false;
  }

  @Override
  public List<Gpu> gpus() {
    return gpus;
  }

  @Override
  public boolean isThis(String server) {
    return server.equals(name);
  }

  @Override
  public boolean lives(String server) {
    return isThis(server) ? registered : others.containsKey(server);
  }

  @Override
  public Map<String, ServerEntry> others() {
    return others;
  }

  @Override
  public boolean isFirst() {
    return registered && others.keySet().stream().allMatch(other -> name.compareTo(other) < 0);
  }
}
