// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.nio.file.StandardCopyOption.REPLACE_EXISTING;

import io.gpupool.server.files.FolderLock;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file in which a store's commits last. Owned by its store, under the store's lock.
 *
 * <p>Each commit is appended as one record with a checksum and forced to the disk before it is
 * acknowledged. So after any crash only the last record can be torn, and it was never acknowledged:
 * it is cut off. Damage anywhere earlier shows by whole records after it; then nothing is repaired
 * by guessing. A record that cannot be written is cut off at once; if even that fails, nothing more
 * is written until a restart. When the file has grown, the whole content is written to a new one,
 * which then takes its name.
 */
final class Journal {
  static final byte[] HEADER = "gpupool state 1\n".getBytes(StandardCharsets.US_ASCII);
  private static final String NAME = "state.journal";
  private static final long COMPACT_BYTES = 1 << 20;
  private static final int COMPACT_GROWTH = 4;

  /** With less room on the disk, it is tried whether it can be written. */
  private static final long LITTLE_BYTES = 1 << 20;

  private static final int PROBE_BYTES = 4096;
  private static final Logger LOG = LoggerFactory.getLogger(Journal.class);

  /** Opens files; a test has them fail. */
  interface Opener {
    JournalFile open(Path path) throws IOException;
  }

  private final Path path;
  private final Opener files;
  private final FileChannel lock;
  private JournalFile file;
  private long length;
  private long compactAt;
  private boolean broken;
  private boolean failed;

  private Journal(Path path, Opener files, FileChannel lock, JournalFile file) {
    this.path = path;
    this.files = files;
    this.lock = lock;
    this.file = file;
  }

  /** Reads what the folder's journal holds into the table, and goes on writing it. */
  static Journal open(Path folder, StateTable table) throws StateException {
    return open(folder, table, JournalFile::of);
  }

  static Journal open(Path folder, StateTable table, Opener files) throws StateException {
    Path path = folder.resolve(NAME);
    FileChannel lock = lock(folder);
    try {
      Files.deleteIfExists(fresh(path));
      Journal journal = new Journal(path, files, lock, files.open(path));
      journal.load(table);
      return journal;
    } catch (IOException e) {
      closeQuietly(lock);
      throw e instanceof StateException told ? told : cannotUse(folder, e);
    }
  }

  private static FileChannel lock(Path folder) throws StateException {
    try {
      if (!Files.isDirectory(folder)) {
        Files.createDirectories(folder);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
      }
      Optional<FileChannel> lock = FolderLock.take(folder);
      if (lock.isPresent()) {
        return lock.get();
      }
    } catch (IOException e) {
      throw cannotUse(folder, e);
    }
    throw new StateException(
        "the state in "
            + folder
            + " is in use by another server; stop that one, or give another"
            + " folder with --state");
  }

  private static StateException cannotUse(Path folder, IOException e) {
    return new StateException(
        "the state in "
            + folder
            + " cannot be used ("
            + e
            + "); is the disk full, and does the folder belong to this user?",
        e);
  }

  private void load(StateTable table) throws IOException {
    byte[] content = file.readAll();
    if (content.length < HEADER.length
        && Arrays.equals(content, 0, content.length, HEADER, 0, content.length)) {
      // New, or its server died while it made it.
      file.truncate(0);
      rewrite(table);
      return;
    }
    if (!Arrays.equals(content, 0, HEADER.length, HEADER, 0, HEADER.length)) {
      throw new StateException(
          path
              + " is not a state of this version of gpupool; run the version that wrote it, or give"
              + " another folder with --state");
    }
    int at = HEADER.length;
    while (at < content.length) {
      Optional<JournalRecord.Decoded> next = JournalRecord.decode(content, at);
      if (next.isEmpty()) {
        requireTorn(content, at, table);
        break;
      }
      if (!follows(next.get().record(), table, at)) {
        throw damaged(at, table);
      }
      restore(next.get().record(), table);
      at = next.get().end();
    }
    if (at == HEADER.length) {
      throw damaged(at, table);
    }
    if (at < content.length) {
      LOG.info("{}: dropping {} bytes that a crash left unfinished", path, content.length - at);
      file.truncate(at);
      file.force();
    }
    length = at;
    compactAt = Math.max(COMPACT_BYTES, COMPACT_GROWTH * length);
  }

  private void requireTorn(byte[] content, int at, StateTable table) throws StateException {
    for (int i = at; i < content.length - JournalRecord.HEADER_BYTES; i++) {
      if (JournalRecord.decode(content, i).isPresent()) {
        throw damaged(at, table);
      }
    }
  }

  private static boolean follows(JournalRecord record, StateTable table, int at) {
    return switch (record) {
      case JournalRecord.Whole whole -> at == HEADER.length;
      case JournalRecord.Changes changes ->
          at > HEADER.length && changes.revision() == table.revision() + 1;
    };
  }

  private StateException damaged(int at, StateTable table) {
    return new StateException(
        path
            + " is damaged at byte "
            + at
            + ", behind revision "
            + table.revision()
            + ": restore the folder from a backup, or move it away to start with an empty pool");
  }

  private static void restore(JournalRecord record, StateTable table) {
    switch (record) {
      case JournalRecord.Whole whole -> {
        whole.entries().forEach(table::restore);
        table.restoreRevision(whole.revision());
      }
      case JournalRecord.Changes changes -> table.apply(changes.revision(), changes.writes());
    }
  }

  /** Returns when the commit is on the disk. */
  void append(long revision, List<Write> writes) throws StateException {
    if (broken) {
      throw new StateException(
          path
              + " cannot be written since an earlier failure; see to the disk and restart the server");
    }
    byte[] record = JournalRecord.encode(new JournalRecord.Changes(revision, writes));
    try {
      file.append(record);
      file.force();
      length += record.length;
      failed = false;
    } catch (IOException e) {
      failed = true;
      undo();
      throw new StateException(
          "the change cannot be written to "
              + path
              + " ("
              + e.getMessage()
              + "); is the disk full?",
          e);
    }
  }

  /** Why nothing can be written now; tried where there is reason to doubt it. */
  Optional<String> trouble() {
    if (broken) {
      return Optional.of(
          path
              + " cannot be written since an earlier failure; see to the disk and restart the server");
    }
    try {
      if (failed || Files.getFileStore(path).getUsableSpace() < LITTLE_BYTES) {
        probe();
        failed = false;
      }
      return Optional.empty();
    } catch (IOException e) {
      failed = true;
      return Optional.of(
          "the state in "
              + path.getParent()
              + " cannot be written ("
              + e.getMessage()
              + "), so nothing is granted or changed; is the disk full?");
    }
  }

  private void probe() throws IOException {
    Path trial = path.resolveSibling(NAME + ".probe");
    JournalFile probe = files.open(trial);
    try {
      probe.append(new byte[PROBE_BYTES]);
      probe.force();
    } finally {
      probe.close();
      Files.deleteIfExists(trial);
    }
  }

  private void undo() {
    try {
      file.truncate(length);
      file.force();
    } catch (IOException e) {
      broken = true;
      LOG.error(
          "{}: what failed to be written cannot be taken back either: {}", path, e.getMessage());
    }
  }

  /** Writes everything into a new file, if the old one has grown enough since it was new. */
  void compactIfLarge(StateTable table) {
    if (length < compactAt || broken) {
      return;
    }
    try {
      rewrite(table);
    } catch (IOException e) {
      compactAt = length + COMPACT_BYTES;
      LOG.warn("{} cannot be written anew, so it grows on: {}", path, e.getMessage());
    }
  }

  private void rewrite(StateTable table) throws IOException {
    byte[] all = JournalRecord.encode(new JournalRecord.Whole(table.revision(), table.read("")));
    Path fresh = fresh(path);
    Files.deleteIfExists(fresh);
    JournalFile next = files.open(fresh);
    try {
      next.append(HEADER);
      next.append(all);
      next.force();
      Files.move(fresh, path, ATOMIC_MOVE, REPLACE_EXISTING);
    } catch (IOException e) {
      next.close();
      throw e;
    }
    JournalFile old = file;
    file = next;
    length = HEADER.length + all.length;
    compactAt = Math.max(COMPACT_BYTES, COMPACT_GROWTH * length);
    old.close();
    try {
      forceFolder();
    } catch (IOException e) {
      // What is written from here on might be in a file that has lost its name after a crash.
      broken = true;
      throw e;
    }
  }

  private void forceFolder() throws IOException {
    try (FileChannel folder = FileChannel.open(path.getParent(), StandardOpenOption.READ)) {
      folder.force(true);
    }
  }

  private static Path fresh(Path path) {
    return path.resolveSibling(NAME + ".new");
  }

  void close() {
    try {
      file.close();
    } catch (IOException e) {
      LOG.debug("{}: {}", path, e.getMessage());
    }
    closeQuietly(lock);
  }

  private static void closeQuietly(FileChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      LOG.debug("the lock of a state: {}", e.getMessage());
    }
  }
}
