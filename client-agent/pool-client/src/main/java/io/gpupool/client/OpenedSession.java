// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

import io.gpupool.control.v1.LeaseServer;
import io.gpupool.transport.dial.CallStreamDialer;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.LocalSocketName;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.Versions;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A session that waits for its call stream.
 *
 * @param peerKey opens connections of the program's workers at other servers to this one
 * @param seal of its call stream; null: it is not sealed
 * @param localSocket of the server, for call streams of its own machine, which are not sealed;
 *     null: there is none that the caller can use
 * @param resumeWindow how long it outlives its connection; zero: not at all
 * @param servers all servers of the lease, in the order of its GPUs
 * @param place of the session's server among them
 */
public record OpenedSession(
    SessionHandle handle,
    SessionKey peerKey,
    CallStreamDialer.Target callStream,
    @Nullable StreamSeal seal,
    @Nullable LocalSocketName localSocket,
    Duration resumeWindow,
    List<LeaseServer> servers,
    int place) {
  public OpenedSession {
    servers = List.copyOf(servers);
  }

  public SessionId id() {
    return handle.id();
  }

  /** Returns whether a later connection can take the place of one that broke. */
  public boolean isResumable() {
    return resumeWindow.isPositive();
  }

  /** The server that the session is at. */
  public LeaseServer server() {
    return servers.get(place);
  }

  /** The first message on its call stream. */
  public ClientHello hello() {
    return new ClientHello(
        Versions.CALL_STREAM_MIN,
        Versions.CALL_STREAM_MAX,
        handle.id(),
        seal == null ? handle.key() : seal.key());
  }
}
