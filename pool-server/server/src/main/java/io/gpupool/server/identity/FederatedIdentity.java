// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The identity of a caller who has logged in, as the issuer describes it.
 *
 * @param subject the issuer's name for the caller
 * @param roles as they stand in the token; unknown ones mean nothing
 * @param podUid of the pod whose token it is; empty: it is no pod's
 * @param node of the cluster whose agent it is
 * @param validUntilMillis since 1970
 */
public record FederatedIdentity(
    String subject,
    String tenant,
    List<String> roles,
    String podUid,
    @Nullable String node,
    long validUntilMillis) {
  /** Of somebody who is no pod and no node. */
  public FederatedIdentity(
      String subject, String tenant, List<String> roles, long validUntilMillis) {
    this(subject, tenant, roles, "", null, validUntilMillis);
  }

  public FederatedIdentity {
    roles = List.copyOf(roles);
  }
}
