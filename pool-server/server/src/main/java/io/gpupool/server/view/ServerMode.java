// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

/**
 * The protection of a server's ports.
 *
 * @param development whether any client that can connect may do anything
 * @param tls whether all ports speak TLS, and nothing else
 */
public record ServerMode(boolean development, boolean tls) {}
