// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.wire.SealSecret;
import io.gpupool.wire.SessionKey;
import java.security.SecureRandom;

/**
 * The seal of a session's first connection.
 *
 * @param key opens the connection, once and in clear text: so it is not the session's key, which
 *     also resumes and closes the session
 * @param secret of the connection
 */
public record StreamSeal(SessionKey key, SealSecret secret) {
  static StreamSeal random(SecureRandom random) {
    return new StreamSeal(SessionKey.random(random), SealSecret.random(random));
  }
}
