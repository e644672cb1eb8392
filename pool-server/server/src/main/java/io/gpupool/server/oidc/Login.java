// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.util.List;

/**
 * What an issuer says of one who has logged in with it.
 *
 * @param subject the issuer's name for him
 * @param roles as they stand in the token; those that a pool does not know mean nothing
 * @param podUid of the pod whose token it is; empty: it is no pod's
 * @param validUntilMillis since 1970
 */
public record Login(
    String subject, String tenant, List<String> roles, String podUid, long validUntilMillis) {
  public Login {
    roles = List.copyOf(roles);
  }
}
