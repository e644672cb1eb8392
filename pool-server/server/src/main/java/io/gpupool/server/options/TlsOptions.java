// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import io.gpupool.transport.tls.TlsFiles;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The TLS of a pool server's ports and of its connections to the pool's other servers.
 *
 * @param ports the files of all ports; none: they do not speak TLS
 * @param peerRoots the roots of the other servers' certificates; null: those of which clients'
 *     certificates come, else those that the machine trusts
 * @param clearCallStreams whether call streams begin in clear text although the rest speaks TLS
 * @param relayCallStreams whether all bytes of call streams are in TLS, so that agent and server
 *     relay them, and none is sealed
 */
public record TlsOptions(
    TlsFiles ports, @Nullable Path peerRoots, boolean clearCallStreams, boolean relayCallStreams) {
  public static final TlsOptions NONE = new TlsOptions(TlsFiles.NONE, null, false, false);

  public TlsOptions {
    if (ports.certificate() == null) {
      require(ports.trusted() == null, "--tls-client-ca asks clients for certificates over TLS");
      require(peerRoots == null, "--tls-peer-ca is for servers that speak TLS");
      require(!clearCallStreams, "--clear-call-streams is for servers that speak TLS");
      require(!relayCallStreams, "--relay-call-streams is for servers that speak TLS");
    }
    if (clearCallStreams && relayCallStreams) {
      throw new IllegalArgumentException(
          "--clear-call-streams has no TLS for --relay-call-streams: give one of them");
    }
  }

  /** Returns whether call streams of programs that can are sealed. */
  public boolean sealsCallStreams() {
    return ports.certificate() != null && !clearCallStreams && !relayCallStreams;
  }

  /** Returns the files of connections to the pool's other servers. */
  public TlsFiles peers() {
    return new TlsFiles(
        ports.certificate(), ports.key(), peerRoots == null ? ports.trusted() : peerRoots);
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalArgumentException(otherwise + ": give --tls-cert and --tls-key");
    }
  }
}
