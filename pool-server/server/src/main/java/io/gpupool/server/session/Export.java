// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.transport.Descriptors;
import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An object of one session that others of its lease may use: memory, an event or a pool. Owned by
 * the control thread.
 */
final class Export {
  final String token;
  final String kind;
  final int gpu;
  final long bytes;
  final String handle;
  private final @Nullable Integer descriptor;

  /** Those who have taken it. */
  final Set<Session> takers = new LinkedHashSet<>();

  /** Whose it is, while that session lives. */
  @Nullable Session owner;

  /** In whose part of the ledger it counts. */
  Session charged;

  /** Nobody may take it any more; who has it keeps it. */
  boolean withdrawn;

  /**
   * Of a session.
   *
   * @param bytes what it counts in the ledger
   * @param handle what the backend knows it by, in hexadecimal digits
   * @param descriptor this process's copy of what is needed for it
   */
  Export(
      String token,
      String kind,
      Session owner,
      int gpu,
      long bytes,
      String handle,
      @Nullable Integer descriptor) {
    this.token = token;
    this.kind = kind;
    this.gpu = gpu;
    this.bytes = bytes;
    this.handle = handle;
    this.descriptor = descriptor;
    this.owner = owner;
    charged = owner;
  }

  /**
   * One whose owner is not known, or gone.
   *
   * @param taker has it
   */
  static Export ofNobody(String token, String kind, Session taker, int gpu, long bytes) {
    Export export = new Export(token, kind, taker, gpu, bytes, "", null);
    export.owner = null;
    export.withdrawn = true;
    export.takers.add(taker);
    return export;
  }

  Optional<Integer> descriptor() {
    return Optional.ofNullable(descriptor);
  }

  /** Whether nobody has it, nor can have it any more. */
  boolean isOver() {
    return withdrawn && takers.isEmpty();
  }

  void close() {
    if (descriptor != null) {
      try {
        Descriptors.close(descriptor);
      } catch (IOException e) {
        throw new IllegalStateException("descriptor of an export", e);
      }
    }
  }
}
