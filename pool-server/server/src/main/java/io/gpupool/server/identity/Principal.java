// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An authenticated caller.
 *
 * @param tenant of the token that it showed; empty: a server without tokens takes any caller
 * @param token of the pool by which it proved its identity
 * @param identity from an issuer by which it proved itself instead
 */
public record Principal(
    String tenant, Role role, @Nullable TokenHash token, @Nullable FederatedIdentity identity) {
  /** Any caller of a server without tokens. */
  public static final Principal ANYONE = new Principal("", Role.ADMIN, null);

  /** The pool itself. */
  public static final Principal POOL = new Principal("pool", Role.ADMIN, null);

  public Principal(String tenant, Role role, @Nullable TokenHash token) {
    this(tenant, role, token, null);
  }

  /** Returns whether it may use what belongs to this tenant. */
  public boolean mayUse(String owner) {
    return role == Role.ADMIN || (role.covers(Role.USER) && owner.equals(tenant));
  }

  /** Returns the UID of the pod that calls, if one does. */
  public Optional<String> podUid() {
    return Optional.ofNullable(identity)
        .filter(of -> role == Role.POD)
        .map(FederatedIdentity::podUid);
  }

  /** Returns whether it may use what belongs to this tenant, or to this pod. */
  public boolean mayUse(String owner, @Nullable LeasePod pod) {
    return mayUse(owner) || (pod != null && podUid().equals(Optional.of(pod.uid())));
  }

  /** Returns whether it may see what belongs to this tenant. */
  public boolean maySee(String owner) {
    return role == Role.ADMIN || owner.equals(tenant);
  }

  /** Returns whether it may see a lease, or the request for one. */
  public boolean maySee(String owner, @Nullable LeasePod pod) {
    return maySee(owner) || isOfNode(pod);
  }

  /** Returns whether it is a node of a cluster, which sees the leases of its own pods. */
  private boolean isOfNode(@Nullable LeasePod pod) {
    return role == Role.READ_ONLY
        && identity != null
        && identity.node() != null
        && pod != null
        && identity.node().equals(pod.node());
  }

  /** Returns the name in the record of changes. */
  public String text() {
    if (identity != null) {
      return (tenant.isEmpty() ? "kubernetes" : tenant)
          + "/"
          + HolderName.plain(identity.subject());
    }
    if (token != null) {
      return tenant + "/" + token.id();
    }
    return tenant.isEmpty() ? "anonymous" : tenant;
  }
}
