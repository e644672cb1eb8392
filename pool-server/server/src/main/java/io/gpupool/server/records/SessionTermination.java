// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

/**
 * That a session is to end, said at another server.
 *
 * @param server that has the session
 */
public record SessionTermination(String server, String reason) {}
