// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.state.v1.AuditRecord;
import io.gpupool.control.state.v1.RoleRecord;
import io.gpupool.control.state.v1.TenantRecord;
import io.gpupool.control.state.v1.TokenRecord;
import io.gpupool.control.state.v1.UsageRecord;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.Token;
import java.util.Objects;

/** The stored form of tenants, their tokens and what they did. */
final class TenantForm {
  private TenantForm() {}

  static TenantRecord tenant(Tenant tenant) {
    TenantRecord.Builder record =
        TenantRecord.newBuilder()
            .setCreatedAtMillis(tenant.createdAtMillis())
            .setQuotaManager(tenant.quotaManager());
    Quota quota = tenant.quota();
    if (quota.milliGpus() != null) {
      record.setMilliGpus(Math.toIntExact(quota.milliGpus()));
    }
    if (quota.memoryBytes() != null) {
      record.setMemoryBytes(quota.memoryBytes());
    }
    if (quota.leases() != null) {
      record.setLeases(quota.leases());
    }
    if (quota.maxPriority() != null) {
      record.setMaxPriority(quota.maxPriority());
    }
    return record.build();
  }

  static Tenant tenant(TenantRecord record) {
    return new Tenant(
        new Quota(
            record.hasMilliGpus() ? (long) record.getMilliGpus() : null,
            record.hasMemoryBytes() ? record.getMemoryBytes() : null,
            record.hasLeases() ? record.getLeases() : null,
            record.hasMaxPriority() ? record.getMaxPriority() : null),
        record.getCreatedAtMillis(),
        record.getQuotaManager());
  }

  static UsageRecord usage(ResourceUsage use) {
    return UsageRecord.newBuilder()
        .setMilliGpus(use.milliGpus())
        .setMemoryBytes(use.memoryBytes())
        .setLeases(use.leases())
        .build();
  }

  static ResourceUsage usage(UsageRecord record) {
    return new ResourceUsage(record.getMilliGpus(), record.getMemoryBytes(), record.getLeases());
  }

  static TokenRecord token(Token token) {
    return TokenRecord.newBuilder()
        .setTenant(token.tenant())
        .setRole(role(token.role()))
        .setCreatedAtMillis(token.createdAtMillis())
        .setExpiresAtMillis(Objects.requireNonNullElse(token.expiresAtMillis(), 0L))
        .setNote(token.note())
        .build();
  }

  static Token token(TokenRecord record) {
    return new Token(
        record.getTenant(),
        role(record.getRole()),
        record.getCreatedAtMillis(),
        record.getExpiresAtMillis() == 0 ? null : record.getExpiresAtMillis(),
        record.getNote());
  }

  static AuditRecord audit(AuditEntry entry) {
    return AuditRecord.newBuilder()
        .setAtMillis(entry.atMillis())
        .setActor(entry.actor())
        .setAction(entry.action())
        .setSubject(entry.subject())
        .setDetail(entry.detail())
        .build();
  }

  static AuditEntry audit(AuditRecord record) {
    return new AuditEntry(
        record.getAtMillis(),
        record.getActor(),
        record.getAction(),
        record.getSubject(),
        record.getDetail());
  }

  static RoleRecord role(Role role) {
    return switch (role) {
      case READ_ONLY -> RoleRecord.ROLE_RECORD_READ_ONLY;
      case USER -> RoleRecord.ROLE_RECORD_USER;
      case ADMIN -> RoleRecord.ROLE_RECORD_ADMIN;
      case POD -> throw new IllegalArgumentException("pods have no tokens of the pool");
    };
  }

  static Role role(RoleRecord record) {
    return switch (record) {
      case ROLE_RECORD_READ_ONLY -> Role.READ_ONLY;
      case ROLE_RECORD_USER -> Role.USER;
      case ROLE_RECORD_ADMIN -> Role.ADMIN;
      case ROLE_RECORD_UNSPECIFIED, UNRECOGNIZED ->
          throw new IllegalArgumentException("role " + record);
    };
  }
}
