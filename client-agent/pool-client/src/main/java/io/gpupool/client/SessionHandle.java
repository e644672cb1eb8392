// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;

/** The name of a session and the secret by which it is closed or resumed. */
public record SessionHandle(SessionId id, SessionKey key) {}
