// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.cache;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * A cache of files in a folder that several servers may share, found by keys. The least recently
 * used go first. A file appears whole or not at all. Since files may contain code, only those that
 * belong to this process's own user and that nobody else may write count. A file that cannot be
 * read counts as missing; one that cannot be written is dropped. For any thread.
 *
 * @param maxBytes of all files together
 * @param suffix of their names, after the key
 */
record FileCache(Path folder, long maxBytes, String suffix) {
  private static final int GROUP_AND_OTHERS_MAY_WRITE = 0_022;

  /** A file's time of modification is that of its last use, give or take an hour. */
  private static final long USE_NOTED_WITHIN_MILLIS = 3_600_000;

  /**
   * One in so many writes looks whether the folder has become too large, and each of large files.
   */
  private static final int WRITES_A_CLEANING = 16;

  /**
   * The folder that a process's environment asks for: the one that a variable names, else one of
   * the user's folder for caches; none if the variable is {@code off} or there is no such folder.
   *
   * @param name of the folder within {@code gpupool} there
   */
  static Optional<Path> folder(Map<String, String> environment, String variable, String name) {
    String named = environment.getOrDefault(variable, "");
    String caches = environment.getOrDefault("XDG_CACHE_HOME", "");
    String home = environment.getOrDefault("HOME", "");
    if (named.equals("off")) {
      return Optional.empty();
    }
    if (!named.isEmpty()) {
      return Optional.of(Path.of(named));
    }
    if (caches.startsWith("/")) {
      return Optional.of(Path.of(caches, "gpupool", name));
    }
    return home.startsWith("/")
        ? Optional.of(Path.of(home, ".cache", "gpupool", name))
        : Optional.empty();
  }

  /** The file of a key, if there is one that can be trusted. */
  Optional<Path> find(byte[] key) {
    Path file = file(key);
    try {
      return isOwn(folder) && isOwn(file) ? Optional.of(file) : Optional.empty();
    } catch (IOException | RuntimeException e) {
      return Optional.empty();
    }
  }

  /** A file was of use: it stays longer. */
  static void noteUse(Path path) {
    // By a plain number of milliseconds: the first use of the JDK's own times takes some itself.
    File file = path.toFile();
    long now = System.currentTimeMillis();
    // That it cannot be set is no harm: the file may go earlier than others.
    boolean ignored =
        file.lastModified() >= now - USE_NOTED_WITHIN_MILLIS || file.setLastModified(now);
  }

  /** Keeps what is in a file under a key if that is possible. */
  void put(byte[] key, FileChannel content) {
    @Nullable Path unfinished = null;
    try {
      long length = content.size();
      if (length == 0 || length > maxBytes) {
        return;
      }
      Files.createDirectories(
          folder,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      if (!isOwn(folder)) {
        return;
      }
      // Readable and writable by its owner alone.
      unfinished = Files.createTempFile(folder, "new", suffix);
      try (FileChannel channel = FileChannel.open(unfinished, StandardOpenOption.WRITE)) {
        if (channel.transferFrom(content, 0, length) != length) {
          throw new IOException("it became shorter");
        }
      }
      Files.move(unfinished, file(key), StandardCopyOption.ATOMIC_MOVE);
      unfinished = null;
      if (length > maxBytes / WRITES_A_CLEANING / WRITES_A_CLEANING
          || ThreadLocalRandom.current().nextInt(WRITES_A_CLEANING) == 0) {
        clean();
      }
    } catch (IOException | RuntimeException e) {
      delete(unfinished);
    }
  }

  private record Entry(Path file, long bytes, FileTime used) {}

  /** Deletes what was not used for longest, until a quarter is free. */
  void clean() throws IOException {
    List<Entry> entries = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + suffix)) {
      for (Path file : files) {
        BasicFileAttributes facts = Files.readAttributes(file, BasicFileAttributes.class);
        entries.add(new Entry(file, facts.size(), facts.lastModifiedTime()));
      }
    }
    long bytes = entries.stream().mapToLong(Entry::bytes).sum();
    if (bytes <= maxBytes) {
      return;
    }
    entries.sort(Comparator.comparing(Entry::used));
    for (Entry entry : entries) {
      if (bytes <= maxBytes / 4 * 3) {
        break;
      }
      delete(entry.file());
      bytes -= entry.bytes();
    }
  }

  private Path file(byte[] key) {
    return folder.resolve(HexFormat.of().formatHex(key) + suffix);
  }

  /** Whether a file or folder belongs to this process's user, and nobody else may write to it. */
  private static boolean isOwn(Path file) throws IOException {
    if (Files.isSymbolicLink(file) || !Files.exists(file)) {
      return false;
    }
    Object mode = Files.getAttribute(file, "unix:mode", LinkOption.NOFOLLOW_LINKS);
    return Objects.equals(
            Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS),
            Files.getAttribute(Path.of("/proc/self"), "unix:uid"))
        && mode instanceof Integer bits
        && (bits & GROUP_AND_OTHERS_MAY_WRITE) == 0;
  }

  private static void delete(@Nullable Path file) {
    try {
      if (file != null) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      // It stays until the next cleaning.
    }
  }
}
