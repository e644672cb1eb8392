// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.http;

/**
 * The limits on what a client can take of a port.
 *
 * @param connections that are open at a time; one too many displaces one that is idle
 * @param headMillis within which a connection's first request, TLS included, must have its headers
 * @param idleMillis for which a connection may stay open between requests
 * @param bodyMillis within which a request's body must be there
 * @param stallMillis for which a client may read nothing of its answer
 */
record HttpLimits(
    int connections, long headMillis, long idleMillis, long bodyMillis, long stallMillis) {
  static final HttpLimits USUAL = new HttpLimits(512, 10_000, 30_000, 30_000, 30_000);
}
