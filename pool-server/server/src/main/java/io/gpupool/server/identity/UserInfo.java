// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import org.jspecify.annotations.Nullable;

/**
 * A caller, described for others than the server itself.
 *
 * @param tenant empty: a server without tokens takes any caller
 * @param name as the audit log has it
 * @param expiresAtMillis until when the caller is known, since 1970; null: until its token is
 *     revoked
 */
public record UserInfo(String tenant, Role role, String name, @Nullable Long expiresAtMillis) {}
