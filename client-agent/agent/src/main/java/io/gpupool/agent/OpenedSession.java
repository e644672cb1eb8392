// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import java.net.InetSocketAddress;

/** A session that waits for its call stream. */
record OpenedSession(SessionId id, SessionKey key, InetSocketAddress callStream) {}
