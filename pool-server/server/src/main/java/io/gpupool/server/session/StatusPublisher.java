// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.control.v1.SessionInfo;
import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.records.RecordForm;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.records.SessionTermination;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publisher of what the servers of a pool tell each other: the state of their sessions, the use of
 * their GPUs, and orders to end sessions. Owned by the control thread.
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
  private Optional<ServerStatus> told = Optional.empty();

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
    Optional<ServerStatus> steady = Optional.of(now.withoutAges());
    boolean isThere = records.get(RecordTypes.SERVER_STATUSES, server).isPresent();
    if (!members.lives(server) || (isThere && steady.equals(told))) {
      return EACH_MILLIS;
    }
    try {
      records.transact(transaction -> {
        transaction.putBound(RecordTypes.SERVER_STATUSES, server, now);
        return null;
      });
      told = steady;
    } catch (StateException e) {
      LOG.debug("the others are not told: {}", e.getMessage());
    }
    long bytes = RecordForm.bulletin(now).getSerializedSize();
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

  /** Has a session of another server end. */
  public void end(String id, String reason) throws StateException {
    for (Map.Entry<String, ServerStatus> other : all().entrySet()) {
      if (other.getValue().sessions().stream().anyMatch(s -> s.getId().equals(id))) {
        records.transact(transaction -> {
          transaction.putBound(
              RecordTypes.SESSION_TERMINATIONS, id, new SessionTermination(other.getKey(), reason));
          return null;
        });
      }
    }
  }

  /** Ends sessions of this server as was said at others. */
  public void applyTerminations(Sessions sessions) {
    records
        .all(RecordTypes.SESSION_TERMINATIONS)
        .forEach((id, ending) -> {
          if (ending.value().server().equals(server)) {
            sessions.all().stream()
                .filter(session -> session.id.toString().equals(id))
                .forEach(session -> session.end(ending.value().reason()));
            forget(id);
          }
        });
  }

  private void forget(String id) {
    try {
      records.transact(transaction -> {
        transaction.delete(RecordTypes.SESSION_TERMINATIONS, id);
        return null;
      });
    } catch (StateException e) {
      LOG.debug("it goes with the server that said it: {}", e.getMessage());
    }
  }
}
