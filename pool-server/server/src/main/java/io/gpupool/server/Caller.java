// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

/**
 * Who calls, as far as others than the server itself need to know.
 *
 * @param tenant empty: a server without tokens takes any caller
 */
public record Caller(String tenant, Role role) {}
