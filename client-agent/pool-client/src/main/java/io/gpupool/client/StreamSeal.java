// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

import io.gpupool.wire.SealSecret;
import io.gpupool.wire.SessionKey;

/**
 * The seal of a session's first connection, which begins in clear text.
 *
 * @param key opens the connection in place of the session's key
 * @param secret from which program and worker have their keys
 */
public record StreamSeal(SessionKey key, SealSecret secret) {}
