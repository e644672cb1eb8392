// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.takeover;

import io.gpupool.runtime.ProcessInfo;
import io.gpupool.runtime.RandomHex;
import io.gpupool.server.files.FolderLock;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folder in which a server's process leaves its workers for the next one: their sockets and a
 * record of each session. One process has it at a time, and no other user reaches what is in it.
 * For any thread.
 */
public final class RunDirectory implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RunDirectory.class);
  private static final String SOCKET_PREFIX = "worker-";
  private static final String SOCKET_SUFFIX = ".sock";
  private static final int SOCKET_BYTES = 8;
  private static final Pattern SOCKET = Pattern.compile("worker-[0-9a-f]{16}\\.sock");

  /** What the address of a unix socket holds. */
  private static final int MAX_PATH_BYTES = 107;

  private static final int PERMISSIONS = 0777;
  private static final int OWNER_ONLY = 0700;
  private static final int WRITABLE_BY_OTHERS = 022;
  private static final int STICKY = 01000;

  private static final FileAttribute<Set<PosixFilePermission>> PRIVATE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private final Path folder;
  private final FileChannel lock;
  private final boolean fresh;
  private final SecureRandom random = new SecureRandom();

  private RunDirectory(Path folder, FileChannel lock, boolean fresh) {
    this.folder = folder;
    this.lock = lock;
    this.fresh = fresh;
  }

  /**
   * Opens a folder, or makes it.
   *
   * @throws IOException if it cannot be used, with a message for people
   */
  public static RunDirectory open(Path chosen) throws IOException {
    Path folder = chosen.toAbsolutePath().normalize();
    String longest = folder + "/" + SOCKET_PREFIX + "0".repeat(2 * SOCKET_BYTES) + SOCKET_SUFFIX;
    if (longest.getBytes(StandardCharsets.UTF_8).length > MAX_PATH_BYTES) {
      throw new IOException(
          "the run directory "
              + folder
              + " has too long a path for the sockets in it; give a shorter one with --run-dir");
    }
    Path parent = folder.getParent();
    if (parent == null) {
      throw new IOException("the run directory cannot be " + folder + "; give a folder of its own");
    }
    if (!Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
      Files.createDirectories(parent, PRIVATE);
      Files.createDirectory(folder, PRIVATE);
    }
    check(folder, parent);
    boolean fresh = !Files.exists(folder.resolve(FolderLock.FILE), LinkOption.NOFOLLOW_LINKS);
    return new RunDirectory(folder, lock(folder), fresh);
  }

  private static void check(Path folder, Path parent) throws IOException {
    long self = Integer.toUnsignedLong(ProcessInfo.USER_ID);
    Facts own = Facts.of(folder);
    if (!own.isDirectory() || own.user() != self || (own.mode() & PERMISSIONS) != OWNER_ONLY) {
      throw new IOException(
          "the run directory "
              + folder
              + " must be a folder of this user ("
              + self
              + ") that no other may enter (mode 700); remove it, or give another with --run-dir");
    }
    Facts above = Facts.of(parent);
    boolean isSafe = (above.mode() & WRITABLE_BY_OTHERS) == 0 || (above.mode() & STICKY) != 0;
    if ((above.user() != self && above.user() != 0) || !isSafe) {
      throw new IOException(
          "the run directory "
              + folder
              + " is not safe: another user can replace it in "
              + parent
              + "; give another with --run-dir");
    }
  }

  /** The facts about a file that decide whether it is safe; symbolic links are not followed. */
  private record Facts(boolean isDirectory, long user, int mode) {
    static Facts of(Path path) throws IOException {
      Map<String, Object> read =
          Files.readAttributes(path, "unix:isDirectory,uid,mode", LinkOption.NOFOLLOW_LINKS);
      return new Facts(
          (boolean) Objects.requireNonNull(read.get("isDirectory")),
          Integer.toUnsignedLong((int) Objects.requireNonNull(read.get("uid"))),
          (int) Objects.requireNonNull(read.get("mode")));
    }
  }

  private static FileChannel lock(Path folder) throws IOException {
    return FolderLock.take(folder)
        .orElseThrow(() ->
            new IOException(
                "the run directory "
                    + folder
                    + " is in use by another server; stop that one, or give another with"
                    + " --run-dir"));
  }

  /** Returns whether no process has had it before, as after a start of the machine. */
  public boolean isFresh() {
    return fresh;
  }

  /** The path of a file in it. */
  Path file(String name) {
    return folder.resolve(name);
  }

  /** The path of a socket in it. */
  public String socket(String name) {
    return folder.resolve(name).toString();
  }

  /** Makes up the name of a worker's socket. */
  public String newSocket() {
    return SOCKET_PREFIX + RandomHex.of(random, SOCKET_BYTES) + SOCKET_SUFFIX;
  }

  static boolean isSocket(String name) {
    return SOCKET.matcher(name).matches();
  }

  /** Deletes the socket of a worker that is dead. */
  public void deleteSocket(String name) {
    delete(folder.resolve(name));
  }

  /** Deletes the sockets of workers that are dead: all but these. */
  public void deleteSocketsBut(Set<String> kept) {
    for (Path socket : list(SOCKET_PREFIX)) {
      if (!kept.contains(socket.getFileName().toString())) {
        delete(socket);
      }
    }
  }

  /** Lists the files whose names begin like this. */
  List<Path> list(String prefix) {
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, prefix + "*")) {
      files.forEach(found::add);
    } catch (IOException e) {
      LOG.warn("the run directory {} cannot be read: {}", folder, e.toString());
    }
    return found;
  }

  static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      LOG.warn("{} cannot be deleted: {}", file, e.toString());
    }
  }

  /** Lets another process have it. */
  @Override
  public void close() {
    try {
      lock.close();
    } catch (IOException e) {
      LOG.warn("the lock of the run directory {}", folder, e);
    }
  }

  @Override
  public String toString() {
    return folder.toString();
  }
}
