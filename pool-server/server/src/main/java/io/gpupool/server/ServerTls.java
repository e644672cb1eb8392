// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.options.ServerOptions;
import io.gpupool.transport.tls.TlsContext;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The TLS of a server.
 *
 * @param ports of all ports; null: they do not speak TLS
 * @param streams of the port for call streams
 * @param peers of connections to the workers of other servers
 */
record ServerTls(
    @Nullable TlsContext ports, @Nullable TlsContext streams, @Nullable TlsContext peers) {
  private static final Logger LOG = LoggerFactory.getLogger(ServerTls.class);

  static ServerTls open(ServerOptions options, CloseSteps steps) throws IOException {
    if (options.tls().ports().areNone()) {
      return new ServerTls(null, null, null);
    }
    TlsContext ports = TlsContext.following(options.tls().ports());
    steps.add(ports::close);
    LOG.info("TLS with the {}", ports.describe().orElseThrow());
    if (options.tls().clearCallStreams()) {
      return new ServerTls(ports, null, null);
    }
    if (options.state().etcd() == null) {
      return new ServerTls(ports, ports, null);
    }
    TlsContext peers = TlsContext.following(options.tls().peers());
    steps.add(peers::close);
    return new ServerTls(ports, ports, peers);
  }
}
