// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.image.ImageName;
import io.gpupool.server.image.SessionImages;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The sessions of this server that are in images. Owned by the control thread. */
final class SavedSessions {
  private static final Logger LOG = LoggerFactory.getLogger(SavedSessions.class);

  private final SessionImages images;
  private final Executor disk;
  private final Map<SessionId, SavedSession> saved = new HashMap<>();

  /**
   * Begins without any.
   *
   * @param disk runs what waits for the disk
   */
  SavedSessions(SessionImages images, Executor disk) {
    this.images = images;
    this.disk = disk;
  }

  /**
   * Reads what the server's former process has left, and deletes what belongs to no suspended
   * lease.
   */
  void load(Map<LeaseId, SuspensionRecord> suspensions) {
    try {
      for (ImageName name : images.list()) {
        SuspensionRecord record = suspensions.get(name.lease());
        if (record != null
            && record.id().equals(name.suspension())
            && record.sessions().contains(name.session())) {
          load(name);
        } else {
          images.delete(name);
        }
      }
    } catch (IOException e) {
      LOG.error("images of suspended sessions cannot be read: {}", e.toString());
    }
  }

  private void load(ImageName name) {
    try {
      add(List.of(SavedSession.read(images, name)));
    } catch (IOException e) {
      LOG.error(
          "lease {} session {} is lost: its image cannot be read: {}",
          name.lease(),
          name.session(),
          e.getMessage());
    }
  }

  void add(List<SavedSession> sessions) {
    sessions.forEach(session -> saved.put(session.id(), session));
  }

  Optional<SavedSession> find(SessionId id, SessionKey key) {
    return Optional.ofNullable(saved.get(id)).filter(session -> session.hasKey(key));
  }

  /** The sessions of a lease. */
  List<SavedSession> of(LeaseId lease) {
    return saved.values().stream().filter(of -> of.moving().lease().equals(lease)).toList();
  }

  /** Forgets a session, and deletes its image. */
  void remove(SavedSession session) {
    if (saved.remove(session.id(), session)) {
      disk.execute(() -> delete(session.name()));
    }
  }

  private void delete(ImageName name) {
    try {
      images.delete(name);
    } catch (IOException e) {
      LOG.warn("the image of session {} cannot be deleted: {}", name.session(), e.getMessage());
    }
  }

  /** Forgets the sessions of leases that are suspended no more. */
  void keep(Map<LeaseId, SuspensionRecord> suspensions) {
    for (SavedSession session : List.copyOf(saved.values())) {
      SuspensionRecord record = suspensions.get(session.moving().lease());
      if (record == null || !record.isSaved() || !record.id().equals(session.moving().move())) {
        remove(session);
      }
    }
  }
}
