// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import java.util.Optional;

/**
 * An authenticated caller.
 *
 * @param tenant of the token that it showed; empty: a server without tokens takes any caller
 * @param token of the pool by which it proved its identity
 * @param identity from an issuer by which it proved itself instead
 */
public record Principal(
    String tenant, Role role, Optional<TokenHash> token, Optional<FederatedIdentity> identity) {
  /** Any caller of a server without tokens. */
  public static final Principal ANYONE = new Principal("", Role.ADMIN, Optional.empty());

  /** The pool itself. */
  public static final Principal POOL = new Principal("pool", Role.ADMIN, Optional.empty());

  public Principal(String tenant, Role role, Optional<TokenHash> token) {
    this(tenant, role, token, Optional.empty());
  }

  /** Whether it may use what belongs to this tenant. */
  public boolean mayUse(String owner) {
    return role == Role.ADMIN || (role.covers(Role.USER) && owner.equals(tenant));
  }

  /** The UID of the pod that calls, if one does. */
  public Optional<String> podUid() {
    return identity.filter(of -> role == Role.POD).map(FederatedIdentity::podUid);
  }

  /** Whether it may use what belongs to this tenant, or to this pod. */
  public boolean mayUse(String owner, Optional<LeasePod> pod) {
    return mayUse(owner) || pod.filter(p -> podUid().equals(Optional.of(p.uid()))).isPresent();
  }

  /** Whether it may see what belongs to this tenant. */
  public boolean maySee(String owner) {
    return role == Role.ADMIN || owner.equals(tenant);
  }

  /** Whether it may see a lease, or the request for one. */
  public boolean maySee(String owner, Optional<LeasePod> pod) {
    return maySee(owner) || isOfNode(pod);
  }

  /** A node of a cluster sees what is for its own pods. */
  private boolean isOfNode(Optional<LeasePod> pod) {
    Optional<String> node =
        identity.filter(of -> role == Role.READ_ONLY).flatMap(FederatedIdentity::node);
    return node.isPresent() && pod.flatMap(LeasePod::node).equals(node);
  }

  /** How the record of changes names it. */
  public String text() {
    if (identity.isPresent()) {
      return (tenant.isEmpty() ? "kubernetes" : tenant)
          + "/"
          + HolderName.plain(identity.get().subject());
    }
    return token
        .map(hash -> tenant + "/" + hash.id())
        .orElse(tenant.isEmpty() ? "anonymous" : tenant);
  }
}
