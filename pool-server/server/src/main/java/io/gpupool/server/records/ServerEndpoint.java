// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

/**
 * The endpoint of a server: its address and ports.
 *
 * @param address {@code HOST:PORT} of its control plane
 * @param callStreamPort the port for call streams at the same host
 * @param tls whether its ports speak TLS
 */
public record ServerEndpoint(String address, int callStreamPort, boolean tls) {
  public String host() {
    return address.substring(0, address.lastIndexOf(':'));
  }
}
