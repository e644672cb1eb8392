// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.records.SessionTermination;
import io.gpupool.server.session.Sessions;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The terminations of sessions across servers: any server records one, and the server that has the
 * session applies it. Owned by the control thread.
 */
public final class SessionTerminations {
  private static final Logger LOG = LoggerFactory.getLogger(SessionTerminations.class);

  private final RecordStore records;
  private final StatusPublisher statuses;
  private final String server;

  public SessionTerminations(RecordStore records, StatusPublisher statuses, String server) {
    this.records = records;
    this.statuses = statuses;
    this.server = server;
  }

  /** Has a session of another server end. */
  public void request(String id, String reason) throws StateException {
    for (Map.Entry<String, ServerStatus> other : statuses.all().entrySet()) {
      if (other.getValue().sessions().stream().anyMatch(s -> s.getId().equals(id))) {
        records.update(transaction -> {
          transaction.putBound(
              RecordTypes.SESSION_TERMINATIONS, id, new SessionTermination(other.getKey(), reason));
        });
      }
    }
  }

  /** Ends sessions of this server as others have requested. */
  public void apply(Sessions sessions) {
    records
        .all(RecordTypes.SESSION_TERMINATIONS)
        .forEach((id, termination) -> {
          if (termination.value().server().equals(server)) {
            sessions.all().stream()
                .filter(session -> session.id().toString().equals(id))
                .forEach(session -> session.end(termination.value().reason()));
            forget(id);
          }
        });
  }

  private void forget(String id) {
    try {
      records.update(transaction -> {
        transaction.delete(RecordTypes.SESSION_TERMINATIONS, id);
      });
    } catch (StateException e) {
      LOG.debug("it goes with the server that said it: {}", e.getMessage());
    }
  }
}
