// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.cache;

import io.gpupool.transport.Descriptors;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The files of one kind that sessions leave for later ones, in a folder for each tenant. They may
 * contain code that later workers run, so no tenant ever sees another's. For any thread.
 *
 * @param folder of all tenants' folders
 * @param maxTenantBytes of the files of one tenant
 * @param suffix of the files' names
 */
public record TenantFiles(Path folder, long maxTenantBytes, String suffix) {
  /** Digits of a tenant's folder: its name may hold what the names of folders may not. */
  private static final int FOLDER_DIGITS = 32;

  /**
   * Those that a server's environment asks for: in the folder that a variable names, else in one of
   * the user's folder for caches; none if the variable is {@code off} or there is no such folder.
   *
   * @param name of the folder within {@code gpupool} there
   */
  public static Optional<TenantFiles> of(
      Map<String, String> environment,
      String variable,
      String name,
      long maxTenantBytes,
      String suffix) {
    return FileCache.folder(environment, variable, name)
        .map(folder -> new TenantFiles(folder, maxTenantBytes, suffix));
  }

  /** A descriptor of a tenant's file, for reading; the caller's to close. */
  public OptionalInt open(String tenant, byte[] key) {
    Optional<Path> file = cache(tenant).find(key);
    if (file.isEmpty()) {
      return OptionalInt.empty();
    }
    try {
      int descriptor = Descriptors.openForReading(file.get());
      FileCache.noteUse(file.get());
      return OptionalInt.of(descriptor);
    } catch (IOException e) {
      return OptionalInt.empty();
    }
  }

  /** Keeps what is in a worker's file in memory, if that is possible, and closes the descriptor. */
  public void keep(String tenant, byte[] key, int descriptor) {
    try {
      if (Descriptors.isMemoryFile(descriptor)) {
        try (FileChannel content =
            FileChannel.open(Path.of("/proc/self/fd/" + descriptor), StandardOpenOption.READ)) {
          cache(tenant).put(key, content);
        }
      }
    } catch (IOException e) {
      // The next session makes it anew.
    } finally {
      close(descriptor);
    }
  }

  private FileCache cache(String tenant) {
    return new FileCache(folder.resolve(folderOf(tenant)), maxTenantBytes, suffix);
  }

  private static String folderOf(String tenant) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(tenant.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest).substring(0, FOLDER_DIGITS);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  private static void close(int descriptor) {
    try {
      Descriptors.close(descriptor);
    } catch (IOException e) {
      throw new IllegalStateException("descriptor of a worker's file", e);
    }
  }
}
