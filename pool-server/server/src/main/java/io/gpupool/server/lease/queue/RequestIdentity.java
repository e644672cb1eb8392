// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.TokenHash;
import java.util.Optional;

/**
 * The identity of a request that its client can make again, at any server of the pool.
 *
 * @param secret the id that the client chose; it becomes the secret of the lease
 * @param message as it came
 * @param key the hash of the id, which is all that others may know of it
 */
public record RequestIdentity(LeaseSecret secret, LeaseRequest message, String key) {
  /** The identity of a request; empty if its client has given it no id. */
  public static Optional<RequestIdentity> of(LeaseRequest message) {
    if (message.getRequestId().isEmpty()) {
      return Optional.empty();
    }
    LeaseSecret secret = LeaseSecret.of(message.getRequestId());
    return Optional.of(new RequestIdentity(secret, message, keyOf(secret)));
  }

  static String keyOf(LeaseSecret secret) {
    return TokenHash.of(secret.reveal()).text();
  }

  /** Whether the client has made the request before. */
  boolean isResumed() {
    return message.getResumed();
  }

  /** The message as it is recorded: without the secret. */
  LeaseRequest withoutSecret() {
    return message.toBuilder().clearRequestId().clearResumed().build();
  }
}
