// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import java.util.OptionalLong;

/**
 * Who calls, as far as others than the server itself need to know.
 *
 * @param tenant empty: a server without tokens takes any caller
 * @param name by which the record of changes has it
 * @param expiresAtMillis until when it is known, since 1970; empty: until its token is revoked
 */
public record Caller(String tenant, Role role, String name, OptionalLong expiresAtMillis) {}
