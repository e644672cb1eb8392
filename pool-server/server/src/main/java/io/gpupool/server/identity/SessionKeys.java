// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import java.security.SecureRandom;

/**
 * The id of a session and the keys that open connections to it.
 *
 * @param key of its program's call stream
 * @param peerKey of connections of the program's workers at other servers
 */
public record SessionKeys(SessionId id, SessionKey key, SessionKey peerKey) {
  public static SessionKeys random(SecureRandom random) {
    return new SessionKeys(
        SessionId.random(random), SessionKey.random(random), SessionKey.random(random));
  }
}
