// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import io.gpupool.control.v1.SessionInfo;
import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ServerForm;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A publisher of this server's status, the state of its sessions and the use of its GPUs, to the
 * other servers of the cluster, and a reader of theirs. Owned by the control thread.
 */
public final class StatusPublisher {
  private static final long EACH_MILLIS = 2000;

  /** However many servers tell however much, etcd is given about so much by all of them. */
  private static final long BYTES_PER_SECOND = 100_000;

  private static final Logger LOG = LoggerFactory.getLogger(StatusPublisher.class);

  private final RecordStore records;
  private final Members members;
  private final String server;
  private final Timers timers;
  private @Nullable ServerStatus told;

  public StatusPublisher(RecordStore records, Members members, String server, Timers timers) {
    this.records = records;
    this.members = members;
    this.server = server;
    this.timers = timers;
  }

  /** Tells of this server from now on, whenever something has changed. */
  public void start(Supplier<ServerStatus> own) {
    timers.after(tell(own.get()), () -> start(own));
  }

  /** In how many milliseconds to look again. */
  private long tell(ServerStatus now) {
    ServerStatus steady = now.withoutAges();
    boolean isThere = records.get(RecordTypes.SERVER_STATUSES, server).isPresent();
    if (!members.lives(server) || (isThere && Objects.equals(steady, told))) {
      return EACH_MILLIS;
    }
    try {
      records.update(transaction -> {
        transaction.putBound(RecordTypes.SERVER_STATUSES, server, now);
      });
      told = steady;
    } catch (StateException e) {
      LOG.debug("the others are not told: {}", e.getMessage());
    }
    long bytes = ServerForm.lengthBytes(now);
    return EACH_MILLIS + 1000 * bytes * (members.others().size() + 1) / BYTES_PER_SECOND;
  }

  /** What another server that lives has told last; ages are as of now. */
  public Optional<ServerStatus> of(String name) {
    return members.isThis(name) || !members.lives(name)
        ? Optional.empty()
        : records
            .get(RecordTypes.SERVER_STATUSES, name)
            .map(Versioned::value)
            .map(status -> status.at(timers.wallMillis()));
  }

  /** Of all other servers that live, by name. */
  public Map<String, ServerStatus> all() {
    Map<String, ServerStatus> all = new TreeMap<>();
    members.others().keySet().forEach(name -> of(name).ifPresent(b -> all.put(name, b)));
    return all;
  }

  /** A session of another server. */
  public Optional<SessionInfo> session(String id) {
    return all().values().stream()
        .flatMap(status -> status.sessions().stream())
        .filter(session -> session.getId().equals(id))
        .findFirst();
  }
}
