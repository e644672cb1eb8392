// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.takeover;

import io.gpupool.control.state.v1.FederatedIdentityRecord;
import io.gpupool.control.state.v1.RunningPrincipalRecord;
import io.gpupool.server.identity.FederatedIdentity;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.wire.WireException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The form of the principals of running sessions. */
public final class PrincipalForm {
  private PrincipalForm() {}

  /** Returns the record of a principal. */
  public static RunningPrincipalRecord write(Principal principal) {
    RunningPrincipalRecord.Builder written =
        RunningPrincipalRecord.newBuilder()
            .setTenant(principal.tenant())
            .setRole(principal.role().text());
    if (principal.token() != null) {
      written.setToken(principal.token().text());
    }
    FederatedIdentity identity = principal.identity();
    if (identity != null) {
      written.setIdentity(
          FederatedIdentityRecord.newBuilder()
              .setSubject(identity.subject())
              .setTenant(identity.tenant())
              .addAllRoles(identity.roles())
              .setPodUid(identity.podUid())
              .setNode(Objects.requireNonNullElse(identity.node(), ""))
              .setValidUntilMillis(identity.validUntilMillis()));
    }
    return written.build();
  }

  /**
   * Reads the record of a principal.
   *
   * @throws WireException if its role is none
   */
  public static Principal read(RunningPrincipalRecord record) throws WireException {
    Role role;
    try {
      role = Role.ofText(record.getRole());
    } catch (IllegalArgumentException e) {
      throw new WireException("role '" + HolderName.plain(record.getRole()) + "'");
    }
    return new Principal(
        record.getTenant(),
        role,
        record.getToken().isEmpty() ? null : new TokenHash(record.getToken()),
        record.hasIdentity() ? identity(record.getIdentity()) : null);
  }

  private static FederatedIdentity identity(FederatedIdentityRecord record) {
    return new FederatedIdentity(
        record.getSubject(),
        record.getTenant(),
        record.getRolesList(),
        record.getPodUid(),
        node(record),
        record.getValidUntilMillis());
  }

  private static @Nullable String node(FederatedIdentityRecord record) {
    return record.getNode().isEmpty() ? null : record.getNode();
  }
}
