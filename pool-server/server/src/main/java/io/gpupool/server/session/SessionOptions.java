// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.cache.TenantFiles;
import io.gpupool.server.host.HostMemory;
import io.gpupool.server.limits.SessionLimits;
import java.util.Map;

/**
 * The limits of a server's sessions, and the parts of the machine that they may use.
 *
 * @param files that sessions leave for later ones, by kind
 */
public record SessionOptions(
    SessionLimits limits, HostMemory memory, Map<String, TenantFiles> files) {
  public SessionOptions {
    files = Map.copyOf(files);
  }
}
