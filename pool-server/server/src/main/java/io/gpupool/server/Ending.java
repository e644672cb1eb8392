// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

/**
 * That a session is to end, said at another server.
 *
 * @param server that has the session
 */
record Ending(String server, String reason) {}
