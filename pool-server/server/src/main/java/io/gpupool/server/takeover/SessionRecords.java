// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.takeover;

import com.google.protobuf.InvalidProtocolBufferException;
import io.gpupool.control.state.v1.RunningSessionRecord;
import io.gpupool.runtime.ProcessStart;
import io.gpupool.server.files.PrivateFile;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.WireException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The records of the sessions that a server's next process can take over, in its run directory: one
 * for each worker, as a session that moves within the server has two. Owned by the control thread.
 */
public final class SessionRecords {
  private static final Logger LOG = LoggerFactory.getLogger(SessionRecords.class);
  private static final String PREFIX = "session-";
  private static final String FRESH = "new-" + PREFIX;
  private static final int MAX_BYTES = 1 << 16;

  private final @Nullable RunDirectory folder;

  /** Of a run directory; null: none is kept. */
  public SessionRecords(@Nullable RunDirectory folder) {
    this.folder = folder;
  }

  /** No records: sessions end with the server's process. */
  public static SessionRecords none() {
    return new SessionRecords(null);
  }

  /**
   * What the server's former process has left.
   *
   * @param lost those that cannot be taken over, whose workers are to be killed
   */
  public record Left(List<SessionRecord> sessions, List<Lost> lost) {}

  /**
   * A session that cannot be taken over.
   *
   * @param lease empty: it is not known
   */
  public record Lost(String name, ProcessStart worker, LeaseId lease, String reason) {}

  /** Writes a record, in place of an earlier one. Returns whether it is there. */
  public boolean write(SessionRecord record) {
    if (folder == null) {
      return false;
    }
    String name = name(record.keys().id(), record.worker().process().pid());
    try {
      PrivateFile.replace(
          folder.file(PREFIX + name),
          folder.file(FRESH + name),
          SessionRecordForm.write(record).toByteString().asReadOnlyByteBuffer(),
          PrivateFile.Outlives.PROCESS);
      return true;
    } catch (IOException e) {
      LOG.warn(
          "session {} ends with this process of the server, as it cannot be recorded: {}",
          record.keys().id().brief(),
          e.toString());
      delete(record.keys().id(), record.worker().process().pid());
      return false;
    }
  }

  private static String name(SessionId id, long workerPid) {
    return id + "-" + workerPid;
  }

  /** Deletes the record of a session that does not have this worker any more. */
  public void delete(SessionId id, long workerPid) {
    if (folder != null) {
      RunDirectory.delete(folder.file(PREFIX + name(id, workerPid)));
    }
  }

  /** Deletes the record of a session that is lost; its worker is dead. */
  public void delete(Lost lost) {
    if (folder != null) {
      RunDirectory.delete(folder.file(lost.name()));
    }
  }

  /** Reads what the server's former process has left, and deletes what is no record. */
  public Left read() {
    Left left = new Left(new ArrayList<>(), new ArrayList<>());
    if (folder != null) {
      folder.list(FRESH).forEach(RunDirectory::delete);
      folder.list(PREFIX).forEach(file -> read(file, left));
    }
    return left;
  }

  private static void read(Path file, Left into) {
    String name = file.getFileName().toString();
    RunningSessionRecord record;
    try {
      record = RunningSessionRecord.parseFrom(bytes(file));
    } catch (InvalidProtocolBufferException e) {
      LOG.warn("{} is no record of a session: {}", file, e.getMessage());
      RunDirectory.delete(file);
      return;
    } catch (IOException e) {
      LOG.warn("{} cannot be read: {}", file, e.toString());
      RunDirectory.delete(file);
      return;
    }
    try {
      if (record.getVersion() != SessionRecordForm.VERSION) {
        throw new WireException("its record is of version " + record.getVersion());
      }
      SessionRecord session = SessionRecordForm.read(record);
      String own = name(session.keys().id(), session.worker().process().pid());
      if (!name.equals(PREFIX + own)) {
        throw new WireException("its record is of session " + own);
      }
      into.sessions().add(session);
    } catch (WireException e) {
      into.lost()
          .add(
              new Lost(
                  name,
                  SessionRecordForm.process(record),
                  new LeaseId(record.getLease()),
                  String.valueOf(e.getMessage())));
    }
  }

  private static byte[] bytes(Path file) throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS))) {
      if (channel.size() > MAX_BYTES) {
        throw new IOException("it has " + channel.size() + " bytes");
      }
      ByteBuffer bytes = ByteBuffer.allocate((int) channel.size());
      while (bytes.hasRemaining() && channel.read(bytes) >= 0) {
        // until all is read
      }
      return bytes.array();
    }
  }

  /** The same for a session that was read, and cannot go on. */
  public static Lost lost(SessionRecord record, String reason) {
    ProcessStart worker = record.worker().process();
    return new Lost(
        PREFIX + name(record.keys().id(), worker.pid()), worker, record.lease(), reason);
  }
}
