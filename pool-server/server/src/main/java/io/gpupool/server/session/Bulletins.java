// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.control.Timers;
import io.gpupool.server.records.Bulletin;
import io.gpupool.server.records.Ending;
import io.gpupool.server.records.Kinds;
import io.gpupool.server.records.RecordForm;
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
 * What the servers of a pool tell each other for people to see: how their sessions fare, and what
 * is used of their GPUs; and sessions that are to end. Owned by the control thread.
 */
public final class Bulletins {
  private static final long EACH_MILLIS = 2000;

  /** However many servers tell however much, etcd is given about so much by all of them. */
  private static final long BYTES_PER_SECOND = 100_000;

  private static final Logger LOG = LoggerFactory.getLogger(Bulletins.class);

  private final RecordStore records;
  private final Members members;
  private final String server;
  private final Timers timers;
  private Optional<Bulletin> told = Optional.empty();

  public Bulletins(RecordStore records, Members members, String server, Timers timers) {
    this.records = records;
    this.members = members;
    this.server = server;
    this.timers = timers;
  }

  /** Tells of this server from now on, whenever something has changed. */
  public void start(Supplier<Bulletin> own) {
    timers.after(tell(own.get()), () -> start(own));
  }

  /** In how many milliseconds to look again. */
  private long tell(Bulletin now) {
    Optional<Bulletin> steady = Optional.of(now.withoutAges());
    boolean isThere = records.get(Kinds.BULLETINS, server).isPresent();
    if (!members.lives(server) || (isThere && steady.equals(told))) {
      return EACH_MILLIS;
    }
    try {
      records.transact(draft -> {
        draft.putBound(Kinds.BULLETINS, server, now);
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
  public Optional<Bulletin> of(String name) {
    return members.isThis(name) || !members.lives(name)
        ? Optional.empty()
        : records
            .get(Kinds.BULLETINS, name)
            .map(Versioned::value)
            .map(bulletin -> bulletin.at(timers.wallMillis()));
  }

  /** Of all other servers that live, by name. */
  public Map<String, Bulletin> all() {
    Map<String, Bulletin> all = new TreeMap<>();
    members.others().keySet().forEach(name -> of(name).ifPresent(b -> all.put(name, b)));
    return all;
  }

  /** A session of another server. */
  public Optional<SessionInfo> session(String id) {
    return all().values().stream()
        .flatMap(bulletin -> bulletin.sessions().stream())
        .filter(session -> session.getId().equals(id))
        .findFirst();
  }

  /** Has a session of another server end. */
  public void end(String id, String reason) throws StateException {
    for (Map.Entry<String, Bulletin> other : all().entrySet()) {
      if (other.getValue().sessions().stream().anyMatch(s -> s.getId().equals(id))) {
        records.transact(draft -> {
          draft.putBound(Kinds.ENDINGS, id, new Ending(other.getKey(), reason));
          return null;
        });
      }
    }
  }

  /** Ends sessions of this server as was said at others. */
  public void heed(Sessions sessions) {
    records
        .all(Kinds.ENDINGS)
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
      records.transact(draft -> {
        draft.delete(Kinds.ENDINGS, id);
        return null;
      });
    } catch (StateException e) {
      LOG.debug("it goes with the server that said it: {}", e.getMessage());
    }
  }
}
