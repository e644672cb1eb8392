// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import io.gpupool.runtime.Timers;
import io.gpupool.server.files.PrivateFile;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.records.Quota;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.Tenant;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The maker of the first admin's token, for a pool without a valid admin token. It writes the token
 * to a file in the state's folder that only the server's user may read.
 */
public final class BootstrapToken {
  static final String TENANT = "admin";
  private static final String FILE = "admin.token";

  private BootstrapToken() {}

  /** The file with the new token; empty if there is an admin's token already. */
  public static Optional<Path> ensure(
      RecordStore records, Tokens tokens, Timers timers, Path folder) throws StateException {
    boolean known =
        records.all(RecordTypes.TOKENS).values().stream()
            .map(Versioned::value)
            .anyMatch(t -> t.role() == Role.ADMIN && !t.isExpired(timers.wallMillis()));
    if (known) {
      return Optional.empty();
    }
    Tokens.Made made = tokens.random();
    Path file = folder.resolve(FILE);
    try {
      // First the file: a token that nobody can read would lock everyone out.
      write(file, made.text() + "\n");
    } catch (IOException e) {
      throw new StateException("the admin's token cannot be written to " + file, e);
    }
    records.update(transaction -> {
      if (transaction.get(RecordTypes.TENANTS, TENANT).isEmpty()) {
        transaction.put(
            RecordTypes.TENANTS, TENANT, new Tenant(Quota.UNLIMITED, timers.wallMillis()));
      }
      tokens.add(transaction, Principal.POOL, made, TENANT, Role.ADMIN, 0, "made by the server");
    });
    return Optional.of(file);
  }

  private static void write(Path file, String text) throws IOException {
    Files.createDirectories(file.toAbsolutePath().getParent());
    PrivateFile.write(
        file,
        ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)),
        PrivateFile.Outlives.POWER);
  }
}
