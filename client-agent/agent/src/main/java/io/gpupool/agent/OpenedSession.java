// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.transport.tls.TlsContext;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import java.net.InetSocketAddress;
import java.util.Optional;

/**
 * A session that waits for its call stream.
 *
 * @param host what the certificate of the call stream's server must be of
 * @param tls with what the call stream begins; empty: in clear text
 */
record OpenedSession(
    SessionId id,
    SessionKey key,
    InetSocketAddress callStream,
    String host,
    Optional<TlsContext> tls) {}
