// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.ptx.PtxModule;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Files of compiled kernels in a folder that several processes share. An entry appears whole or not
 * at all. Since entries are code, only files of this process's own user count, which nobody else
 * may write. Any thread may call it.
 */
final class CacheFolder {
  /*
   * An entry is named by its key and holds a SHA-256 digest of the rest, the key again, and the
   * kernel. Its time of modification is that of its last use, give or take an hour.
   */
  private static final String SUFFIX = ".kernel";

  private static final int DIGEST_BYTES = 32;
  private static final long MAX_ENTRY_BYTES = 64L << 20;
  private static final int GROUP_AND_OTHERS_MAY_WRITE = 0_022;
  private static final long USE_NOTED_WITHIN_MILLIS = 3_600_000;

  /** One in so many writes looks whether the folder has become too large. */
  private static final int WRITES_A_CLEANING = 16;

  private final Path folder;
  private final long maxBytes;

  CacheFolder(Path folder, long maxBytes) {
    this.folder = folder;
    this.maxBytes = maxBytes;
  }

  /** An entry that is there and whole. */
  Optional<KernelBinary> read(byte[] key) {
    Path file = file(key);
    try {
      if (!isOwn(folder) || !isOwn(file) || Files.size(file) > MAX_ENTRY_BYTES) {
        return Optional.empty();
      }
      byte[] content = Files.readAllBytes(file);
      Optional<KernelBinary> found = decode(key, content);
      if (found.isPresent()) {
        noteUse(file);
      }
      return found;
    } catch (IOException | RuntimeException e) {
      return Optional.empty();
    }
  }

  /** Reads an entry that is in memory alone, and one that is not there. */
  void rehearse(byte[] key, KernelBinary kernel) {
    try {
      decode(key, encode(key, kernel)).ifPresent(KernelBinary::load);
    } catch (IOException e) {
      // Whoever comes next waits a little longer.
    }
    read(key);
  }

  private static Optional<KernelBinary> decode(byte[] key, byte[] content) throws IOException {
    if (content.length < 2 * DIGEST_BYTES) {
      return Optional.empty();
    }
    MessageDigest digest = PtxModule.sha256();
    digest.update(content, DIGEST_BYTES, content.length - DIGEST_BYTES);
    if (!MessageDigest.isEqual(digest.digest(), Arrays.copyOf(content, DIGEST_BYTES))
        || !Arrays.equals(content, DIGEST_BYTES, 2 * DIGEST_BYTES, key, 0, DIGEST_BYTES)) {
      return Optional.empty();
    }
    int start = 2 * DIGEST_BYTES;
    return Optional.of(
        KernelBinary.read(
            new DataInputStream(new ByteArrayInputStream(content, start, content.length - start))));
  }

  /** Keeps an entry if that is possible. */
  void write(byte[] key, KernelBinary kernel) {
    Path unfinished = null;
    try {
      byte[] content = encode(key, kernel);
      if (content.length > Math.min(maxBytes, MAX_ENTRY_BYTES)) {
        return;
      }
      Files.createDirectories(
          folder,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      if (!isOwn(folder)) {
        return;
      }
      // Readable and writable by its owner alone.
      unfinished = Files.createTempFile(folder, "new", SUFFIX);
      Files.write(unfinished, content);
      Files.move(unfinished, file(key), StandardCopyOption.ATOMIC_MOVE);
      unfinished = null;
      if (ThreadLocalRandom.current().nextInt(WRITES_A_CLEANING) == 0) {
        clean();
      }
    } catch (IOException | RuntimeException e) {
      delete(unfinished);
    }
  }

  private static byte[] encode(byte[] key, KernelBinary kernel) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(new byte[DIGEST_BYTES]);
    bytes.write(key);
    kernel.write(new DataOutputStream(bytes));
    byte[] content = bytes.toByteArray();
    MessageDigest digest = PtxModule.sha256();
    digest.update(content, DIGEST_BYTES, content.length - DIGEST_BYTES);
    System.arraycopy(digest.digest(), 0, content, 0, DIGEST_BYTES);
    return content;
  }

  private record Entry(Path file, long bytes, FileTime used) {}

  /** Deletes what was not used for longest, until a quarter is free. */
  void clean() throws IOException {
    List<Entry> entries = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + SUFFIX)) {
      for (Path file : files) {
        Map<String, Object> facts = Files.readAttributes(file, "size,lastModifiedTime");
        entries.add(
            new Entry(file, (long) facts.get("size"), (FileTime) facts.get("lastModifiedTime")));
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
    return folder.resolve(HexFormat.of().formatHex(key) + SUFFIX);
  }

  /** By a plain number of milliseconds: the first use of the JDK's own times takes some itself. */
  private static void noteUse(Path path) {
    File file = path.toFile();
    long now = System.currentTimeMillis();
    // That it cannot be set is no harm: the entry may go earlier than others.
    boolean ignored =
        file.lastModified() >= now - USE_NOTED_WITHIN_MILLIS || file.setLastModified(now);
  }

  /** Whether a file or folder belongs to this process's user, and nobody else may write to it. */
  private static boolean isOwn(Path file) throws IOException {
    if (Files.isSymbolicLink(file) || !Files.exists(file)) {
      return false;
    }
    Map<String, Object> facts =
        Files.readAttributes(file, "unix:uid,mode", LinkOption.NOFOLLOW_LINKS);
    return facts.get("uid").equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"))
        && ((int) facts.get("mode") & GROUP_AND_OTHERS_MAY_WRITE) == 0;
  }

  private static void delete(Path file) {
    try {
      if (file != null) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      // It stays until the next cleaning.
    }
  }
}
