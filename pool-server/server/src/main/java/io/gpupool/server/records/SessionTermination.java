// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

/**
 * An order to end a session of another server.
 *
 * @param server that has the session
 */
public record SessionTermination(String server, String reason) {}
