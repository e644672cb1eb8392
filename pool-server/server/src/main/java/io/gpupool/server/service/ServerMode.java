// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

/**
 * How a server is guarded.
 *
 * @param development whoever can connect may do anything
 * @param tls all ports speak TLS, and nothing else
 */
public record ServerMode(boolean development, boolean tls) {}
