// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import io.gpupool.server.limits.ServerLimits;
import java.net.InetAddress;

/**
 * The options with which a pool server is started.
 *
 * @param limits the limits of what one tenant can take of the server
 */
public record ServerOptions(
    GpuOptions gpus,
    PortOptions ports,
    NameOptions names,
    StateOptions state,
    TlsOptions tls,
    AuthOptions auth,
    WorkerOptions workers,
    ServerLimits limits) {
  public ServerOptions {
    if (auth.needsTokens() && !state.isPersistent()) {
      throw new IllegalArgumentException(
          "tokens need a folder or an etcd that remembers them: give --state DIR"
              + alternative(ports.listen()));
    }
  }

  /**
   * Returns whether this is a mode to try things out in: any caller that can connect may do
   * anything, unless it has to show a certificate.
   */
  public boolean isDevelopment() {
    return !auth.needsTokens() && tls.ports().trusted() == null;
  }

  private static String alternative(InetAddress listen) {
    return listen.isLoopbackAddress()
        ? ""
        : ", or --auth none on a network that you trust, or --listen 127.0.0.1";
  }
}
