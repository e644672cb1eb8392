// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.control.v1.Cause;
import io.gpupool.server.capacity.Partitions;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.queue.QueueClient;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.Quota;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RefusedException.Why;
import io.gpupool.server.rejection.RejectionReason;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TenantsTest {
  private static final long GIB = 1L << 30;
  private static final long HOUR_MILLIS = 3_600_000;
  private static final Quota ONE_LEASE = new Quota(null, null, 1, null);

  private final Gpu gpu = PlacementTest.gpu("host:7642", 0, 8 * GIB);
  private final Ground ground = new Ground(List.of(gpu));

  @Test
  void token_whileItIsValid_saysWhoCalls() throws Exception {
    Tokens.Made made = token("blue", Role.USER, HOUR_MILLIS);
    Principal principal = ground.tokens.authenticate(made.text()).orElseThrow();
    assertThat(principal).isEqualTo(new Principal("blue", Role.USER, made.hash()));
    assertThat(made.text()).startsWith("gpupool_").hasSize(51);
    assertThat(made.toString()).doesNotContain(made.text());
    assertThat(ground.tokens.authenticate(made.text() + "x")).isEmpty();
    assertThat(ground.tokens.authenticate(null)).isEmpty();
    assertThat(principal.mayUse("blue")).isTrue();
    assertThat(principal.mayUse("red")).isFalse();
    assertThat(principal.mayUse("")).isFalse();
    ground.timers.pass(HOUR_MILLIS);
    assertThat(ground.tokens.authenticate(made.text())).isEmpty();
    assertThat(ground.tokens.stillHolds(principal)).isFalse();
  }

  @Test
  void token_revokedOrItsTenantDeleted_letsNobodyIn() throws Exception {
    Tokens.Made revoked = token("blue", Role.ADMIN, 0);
    Tokens.Made other = ground.tokens.create(Principal.ANYONE, "blue", Role.USER, 0, "");
    ground.tokens.revoke(Principal.ANYONE, revoked.hash().id());
    assertThat(ground.tokens.authenticate(revoked.text())).isEmpty();
    assertThat(ground.tokens.authenticate(other.text())).isPresent();
    ground.tenants.delete(Principal.ANYONE, "blue", 0);
    assertThat(ground.tokens.authenticate(other.text())).isEmpty();
    ground.tenants.create(Principal.ANYONE, "blue", Quota.UNLIMITED);
    assertThat(ground.tokens.authenticate(other.text()))
        .as("a tenant of the same name is another")
        .isEmpty();
  }

  @Test
  void state_tokensAndSecrets_areInItAsHashesOnly() throws Exception {
    Tokens.Made made = token("blue", Role.USER, 0);
    GrantedLease granted = ask("blue", 0.5).granted;
    ground
        .records
        .all(RecordTypes.TOKENS)
        .keySet()
        .forEach(key -> assertThat(made.text()).doesNotContain(key));
    assertThat(ground.records.all(RecordTypes.GRANTS).toString())
        .doesNotContain(granted.secret().reveal());
    assertThat(ground.records.all(RecordTypes.TOKENS).toString()).doesNotContain(made.text());
    assertThat(granted.lease().hasSecret(granted.secret().reveal())).isTrue();
  }

  @Test
  void quota_reached_nextOneWaitsAndIsGrantedWhenTheFirstEnds() throws Exception {
    ground.tenants.create(Principal.ANYONE, "blue", ONE_LEASE);
    Asked first = ask("blue", 0.25);
    Asked second = ask("blue", 0.25, HOUR_MILLIS, 0);
    assertThat(second.granted).isNull();
    assertThat(second.reason).contains("at most 1 leases");
    Asked refused = ask("blue", 0.25);
    assertThat(refused.cause).isEqualTo(Cause.CAUSE_DENIED);
    assertThat(ask("red", 0.25).granted).as("another tenant").isNotNull();
    assertThatThrownBy(() -> ground.tenants.delete(Principal.ANYONE, "blue", 0))
        .hasMessageContaining("holds 1 leases");
    ground.leases.end(first.granted.lease(), "released");
    assertThat(second.granted).isNotNull();
    ground.leases.end(second.granted.lease(), "released");
    assertThat(ground.tenants.use("blue")).isEqualTo(ResourceUsage.NONE);
    ground.tenants.delete(Principal.ANYONE, "blue", 0);
  }

  @Test
  void token_tenantHasManyAlready_isRefused() throws Exception {
    ground.tenants.create(Principal.ANYONE, "blue", Quota.UNLIMITED);
    for (int i = 0; i < 64; i++) {
      ground.tokens.create(Principal.ANYONE, "blue", Role.USER, 0, "");
    }
    assertRefused(
        Why.INVALID, () -> ground.tokens.create(Principal.ANYONE, "blue", Role.USER, 0, ""));
    ground.tenants.delete(Principal.ANYONE, "blue", 0);
    assertThat(ground.tokens.all()).isEmpty();
  }

  @Test
  void refusal_gpuHeldByAnotherTenant_doesNotSayWhatItRuns() throws Exception {
    Principal red = new Principal("red", Role.USER, null);
    ask("blue", 1);
    Asked asked = new Asked();
    GpuRequirements whole =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(1), null, List.of());
    ground.queue.ask(new LeaseSpec(whole, 0, 0, Ground.HOLDER, red, "red"), asked, null);
    assertThat(asked.reason)
        .contains("lease L1 (another tenant's, 8.0 GiB")
        .doesNotContain("python");
    ground.queue.ask(Ground.request(whole, ""), asked, null);
    assertThat(asked.reason).contains("lease L1 (pid 123 python on box");
  }

  @Test
  void quota_eachLimit_holds() throws Exception {
    assertLimit(new Quota(499L, null, null, null), "0.499 GPUs");
    assertLimit(new Quota(null, 4 * GIB - 1, null, null), "4.0 GiB of GPU memory");
    assertLimit(new Quota(null, null, null, -1), "priority of at most -1");
    ground.tenants.create(Principal.ANYONE, "exact", new Quota(500L, 4 * GIB, 1, 0));
    assertThat(ask("exact", 0.5).granted).isNotNull();
  }

  private void assertLimit(Quota quota, String reason) throws Exception {
    ground.tenants.create(Principal.ANYONE, "small", quota);
    Asked asked = ask("small", 0.5, HOUR_MILLIS, 0);
    assertThat(asked.cause).as(reason).isEqualTo(Cause.CAUSE_DENIED);
    assertThat(asked.reason).contains(reason);
    ground.tenants.delete(Principal.ANYONE, "small", 0);
  }

  @Test
  void changes_thatCannotBe_sayWhy() throws Exception {
    ground.tenants.create(Principal.ANYONE, "blue", Quota.UNLIMITED);
    assertRefused(Why.EXISTS, () -> ground.tenants.create(Principal.ANYONE, "blue", ONE_LEASE));
    assertRefused(Why.INVALID, () -> ground.tenants.create(Principal.ANYONE, "Blue!", ONE_LEASE));
    assertRefused(
        Why.NOT_FOUND, () -> ground.tenants.setQuota(Principal.ANYONE, "red", ONE_LEASE, 0));
    assertRefused(
        Why.CHANGED, () -> ground.tenants.setQuota(Principal.ANYONE, "blue", ONE_LEASE, 99));
    assertRefused(
        Why.NOT_FOUND, () -> ground.tokens.create(Principal.ANYONE, "red", Role.USER, 0, ""));
    assertRefused(Why.NOT_FOUND, () -> ground.tokens.revoke(Principal.ANYONE, "000000000000"));
    Partitions.Wanted half = new Partitions.Wanted(4 * GIB, null);
    assertRefused(
        Why.NOT_FOUND,
        () -> ground.partitions.create(Principal.ANYONE, gpu, "p", half, false, Set.of("red")));
    ground.partitions.create(Principal.ANYONE, gpu, "p", half, false, Set.of("blue"));
    assertRefused(Why.IN_USE, () -> ground.tenants.delete(Principal.ANYONE, "blue", 0));
    assertRefused(
        Why.CHANGED, () -> ground.partitions.delete(Principal.ANYONE, gpu, "p", false, 1));
    assertThat(
            ground.partitions.delete(
                Principal.ANYONE, gpu, "p", false, ground.partitions.see(gpu).revision()))
        .isTrue();
    assertThat(ground.audit.latest(3))
        .extracting(line -> line.entry().action())
        .containsExactly("partition.delete", "partition.create", "tenant.create");
  }

  @Test
  void firstAdmin_isMadeOnceAndAgainWhenNobodyElseCouldComeIn(@TempDir Path folder)
      throws Exception {
    Path file =
        BootstrapToken.ensure(ground.records, ground.tokens, ground.timers, folder).orElseThrow();
    assertThat(Files.getPosixFilePermissions(file))
        .isEqualTo(PosixFilePermissions.fromString("rw-------"));
    Principal admin = ground.tokens.authenticate(Files.readString(file).strip()).orElseThrow();
    assertThat(admin.role()).isEqualTo(Role.ADMIN);
    assertThat(BootstrapToken.ensure(ground.records, ground.tokens, ground.timers, folder))
        .isEmpty();
    ground.tokens.revoke(admin, admin.token().id());
    assertThat(BootstrapToken.ensure(ground.records, ground.tokens, ground.timers, folder))
        .isPresent();
  }

  @Test
  void audit_moreLinesThanAreKept_theOldestGo() throws Exception {
    for (int i = 0; i < Audit.KEPT + 200; i++) {
      String subject = "s" + i;
      ground.records.update(transaction -> {
        ground.audit.note(transaction, Principal.ANYONE, "test", subject, "");
      });
    }
    List<Audit.Line> lines = ground.audit.latest(Integer.MAX_VALUE);
    assertThat(lines.getFirst().entry().subject()).isEqualTo("s" + (Audit.KEPT + 199));
    assertThat(lines).hasSizeBetween(Audit.KEPT, Audit.KEPT + 64);
  }

  private Tokens.Made token(String tenant, Role role, long validMillis) throws Exception {
    ground.tenants.create(Principal.ANYONE, tenant, Quota.UNLIMITED);
    return ground.tokens.create(Principal.ANYONE, tenant, role, validMillis, "a note");
  }

  private Asked ask(String tenant, double part) {
    return ask(tenant, part, 0, 0);
  }

  private Asked ask(String tenant, double part, long waitMillis, int priority) {
    Asked asked = new Asked();
    ground.queue.ask(
        new LeaseSpec(
            new GpuRequirements(1, new GpuRequirements.Size.Fraction(part), null, List.of()),
            priority,
            waitMillis,
            Ground.HOLDER,
            Principal.ANYONE,
            tenant),
        asked,
        null);
    return asked;
  }

  /** Remembers what it is told. */
  private static final class Asked implements QueueClient {
    @SuppressWarnings("NullAway.Init") // set when it is granted
    private GrantedLease granted;

    @SuppressWarnings("NullAway.Init") // set when it is refused
    private Cause cause;

    private String reason = "";

    @Override
    public LeaseHold hold() {
      return reason -> {};
    }

    @Override
    public void queued(int place, RejectionReason why) {
      reason = why.text();
    }

    @Override
    public void granted(GrantedLease lease) {
      Ground.dropHolds(lease.lease());
      granted = lease;
    }

    @Override
    public void refused(LeaseRefusal refusal) {
      cause = refusal.reason().cause();
      reason = refusal.text();
    }
  }

  /** Something that is refused. */
  private interface Change {
    void run() throws Exception;
  }

  private static void assertRefused(Why why, Change change) {
    assertThatThrownBy(change::run)
        .isInstanceOfSatisfying(RefusedException.class, e -> assertThat(e.why()).isEqualTo(why));
  }
}
