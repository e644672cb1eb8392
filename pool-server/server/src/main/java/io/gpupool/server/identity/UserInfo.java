// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import java.util.OptionalLong;

/**
 * A caller, described for others than the server itself.
 *
 * @param tenant empty: a server without tokens takes any caller
 * @param name as the audit log has it
 * @param expiresAtMillis until when the caller is known, since 1970; empty: until its token is
 *     revoked
 */
public record UserInfo(String tenant, Role role, String name, OptionalLong expiresAtMillis) {}
