// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.takeover;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * The usual places of run directories. They are in memory, as what is in them must not outlast the
 * boot.
 */
public final class RunFolders {
  private static final int HASH_DIGITS = 16;

  private RunFolders() {}

  /**
   * The usual run directory of a server, and those in its place where it cannot be made.
   *
   * @param state says which state the server has, and of which server if several share it
   */
  public static List<Path> of(String state, int user, Map<String, String> variables) {
    String name = hash(state);
    List<Path> folders = new ArrayList<>();
    String own = variables.getOrDefault("XDG_RUNTIME_DIR", "");
    if (user == 0) {
      // Not in /run/gpupool, where agents have sockets for all users.
      folders.add(Path.of("/run/gpupool-server", name));
    } else if (Path.of(own).isAbsolute() && Files.isDirectory(Path.of(own))) {
      folders.add(Path.of(own, "gpupool", name));
    }
    folders.add(Path.of("/dev/shm/gpupool-" + Integer.toUnsignedString(user), name));
    return folders;
  }

  private static String hash(String text) {
    try {
      return HexFormat.of()
          .formatHex(
              MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)))
          .substring(0, HASH_DIGITS);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
