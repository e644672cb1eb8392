// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.client.connection.StatusText;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.ListTenantsRequest;
import io.gpupool.control.v1.Quota;
import io.gpupool.control.v1.SetQuotaRequest;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.k8s.controller.pod.PodState;
import io.gpupool.k8s.controller.pod.PodState.Reason;
import io.gpupool.runtime.BackOff;
import io.gpupool.runtime.Timers;
import io.grpc.Status;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pool's tenants of namespaces. They are made known to the pool, with their quotas. Owned by
 * the controller's thread.
 */
final class NamespaceTenants {
  private static final Logger LOG = LoggerFactory.getLogger(NamespaceTenants.class);

  private final PoolCalls connections;
  private final String manager;
  private final Timers timers;
  private final ControllerOptions.Times times;
  private final RandomGenerator random;
  private final Consumer<String> changed;
  private final Map<String, TenantQuota> namespaces = new TreeMap<>();
  private final Map<String, Tenant> tenants = new HashMap<>();

  /**
   * Begins without any namespace.
   *
   * @param manager names this cluster's controller as the manager of a quota
   * @param changed called with a tenant about which something new is known
   */
  NamespaceTenants(
      PoolCalls connections,
      String manager,
      Timers timers,
      ControllerOptions.Times times,
      RandomGenerator random,
      Consumer<String> changed) {
    this.connections = connections;
    this.manager = manager;
    this.timers = timers;
    this.times = times;
    this.random = random;
    this.changed = changed;
  }

  /** A tenant whose namespace has pods that ask for GPUs. */
  private final class Tenant {
    private final String name;
    private final BackOff pause = times.retries().jittered(random);
    private @Nullable Quota wanted;
    private @Nullable Integer mostPriority;
    private boolean known;
    private boolean stale;
    private boolean busy;
    private @Nullable PodState problem;

    private Tenant(String name) {
      this.name = name;
    }
  }

  void seen(String namespace, Map<String, String> annotations) {
    TenantQuota said = TenantQuota.of(namespace, annotations);
    TenantQuota before = namespaces.put(namespace, said);
    if (said.equals(before)) {
      return;
    }
    if (said.problem() != null) {
      LOG.warn("{}; its pods get no leases", said.problem());
    }
    if (before != null && (before.quota() != null || before.problem() != null)) {
      // The quota that it set is removed even if none of its pods asks for anything now.
      Tenant past = tenant(before.tenant());
      past.stale = true;
      settle(past);
    }
    Tenant tenant = tenants.get(said.tenant());
    if (tenant != null) {
      settle(tenant);
    }
    changed.accept(said.tenant());
  }

  private Tenant tenant(String name) {
    return tenants.computeIfAbsent(name, Tenant::new);
  }

  void gone(String namespace) {
    namespaces.remove(namespace);
  }

  /** Returns the tenant of a namespace's pods; empty while it is not known. */
  Optional<String> of(String namespace) {
    return Optional.ofNullable(namespaces.get(namespace)).map(TenantQuota::tenant);
  }

  /** Returns the highest priority that a namespace's pods may have; empty: any, or not known. */
  OptionalInt mostPriority(String namespace) {
    return of(namespace)
        .map(tenants::get)
        .map(tenant -> tenant.mostPriority)
        .map(OptionalInt::of)
        .orElseGet(OptionalInt::empty);
  }

  private static @Nullable Integer mostPriority(TenantInfo info) {
    return info.getQuota().hasMaxPriority()
        ? Integer.valueOf(info.getQuota().getMaxPriority())
        : null;
  }

  /**
   * Returns whether leases may be asked for in a namespace; starts making the tenant known if not.
   */
  boolean isReady(String namespace) {
    TenantQuota said = namespaces.get(namespace);
    if (said == null || said.problem() != null) {
      return false;
    }
    Tenant tenant = tenants.get(said.tenant());
    if (tenant == null) {
      tenant = tenant(said.tenant());
      settle(tenant);
    }
    return tenant.known;
  }

  /**
   * Returns whether it is known if leases may be asked for in a namespace; starts finding out if
   * not.
   */
  boolean isAnswered(String namespace) {
    return isReady(namespace) || of(namespace).isEmpty() || problem(namespace).isPresent();
  }

  /** Returns why leases may not be asked for; empty: they may, or nothing is known yet. */
  Optional<PodState> problem(String namespace) {
    TenantQuota said = namespaces.get(namespace);
    if (said == null) {
      return Optional.empty();
    }
    String problem = said.problem();
    if (problem != null) {
      return Optional.of(new PodState(Reason.REFUSED, problem, Map.of(), false));
    }
    return Optional.ofNullable(tenants.get(said.tenant())).map(tenant -> tenant.problem);
  }

  /**
   * Checks from time to time that the pool still has the tenants, and creates them again if it has
   * lost its state.
   */
  void watch() {
    timers.after(times.sweep(), this::watch);
    Set<String> named =
        namespaces.values().stream().map(TenantQuota::tenant).collect(Collectors.toSet());
    tenants.keySet().retainAll(named);
    connections
        .admin()
        .listTenants(
            ListTenantsRequest.getDefaultInstance(),
            PoolCalls.answer(
                reply -> {
                  Set<String> there =
                      reply.getTenantsList().stream()
                          .map(TenantInfo::getName)
                          .collect(Collectors.toSet());
                  reply
                      .getTenantsList()
                      .forEach(info ->
                          tenants.computeIfPresent(
                              info.getName(),
                              (name, tenant) -> {
                                tenant.mostPriority = mostPriority(info);
                                return tenant;
                              }));
                  tenants.values().stream()
                      .filter(tenant -> !there.contains(tenant.name))
                      .forEach(tenant -> {
                        tenant.known = false;
                        settle(tenant);
                      });
                },
                status -> LOG.debug("the pool does not tell its tenants: {}", status)));
  }

  /** Returns the first quota that one of the tenant's namespaces sets. */
  private @Nullable Quota wanted(String tenant) {
    return namespaces.values().stream()
        .filter(said -> said.tenant().equals(tenant))
        .flatMap(said -> Stream.ofNullable(said.quota()))
        .findFirst()
        .orElse(null);
  }

  private void settle(Tenant tenant) {
    Quota wanted = wanted(tenant.name);
    if (tenant.busy || tenant.known && !tenant.stale && Objects.equals(wanted, tenant.wanted)) {
      return;
    }
    tenant.busy = true;
    tenant.stale = false;
    CreateTenantRequest.Builder request = CreateTenantRequest.newBuilder().setName(tenant.name);
    if (wanted != null) {
      request.setQuota(wanted).setQuotaManager(manager);
    }
    connections
        .admin()
        .createTenant(
            request.build(),
            PoolCalls.answer(
                made -> done(tenant, made, wanted),
                status -> {
                  if (status.getCode() == Status.Code.ALREADY_EXISTS) {
                    compare(tenant, wanted);
                  } else {
                    failed(tenant, status);
                  }
                }));
  }

  private void compare(Tenant tenant, @Nullable Quota wanted) {
    connections
        .admin()
        .listTenants(
            ListTenantsRequest.newBuilder().setName(tenant.name).build(),
            PoolCalls.answer(
                reply ->
                    reply.getTenantsList().stream()
                        .filter(info -> info.getName().equals(tenant.name))
                        .findFirst()
                        .ifPresentOrElse(
                            info -> set(tenant, info, wanted),
                            () -> failed(tenant, Status.ABORTED.withDescription("it is gone"))),
                status -> failed(tenant, status)));
  }

  /** Returns whether one of the tenant's namespaces has an error in its annotations. */
  private boolean isUnclear(String tenant) {
    return namespaces.values().stream()
        .anyMatch(said -> said.tenant().equals(tenant) && said.problem() != null);
  }

  /**
   * Sets the quota of the namespaces; if they set none, the quota that they set before is removed.
   */
  private void set(Tenant tenant, TenantInfo info, @Nullable Quota wanted) {
    boolean isOwn = info.getQuotaManager().equals(manager);
    if (wanted == null && (!isOwn || isUnclear(tenant.name))) {
      done(tenant, info, wanted);
      return;
    }
    Quota.Builder quota = wanted == null ? Quota.newBuilder() : wanted.toBuilder();
    String keeper = wanted != null ? manager : "";
    if (info.getQuota().hasMaxPriority()) {
      quota.setMaxPriority(info.getQuota().getMaxPriority());
    }
    if (quota.build().equals(info.getQuota()) && keeper.equals(info.getQuotaManager())) {
      done(tenant, info, wanted);
      return;
    }
    connections
        .admin()
        .setQuota(
            SetQuotaRequest.newBuilder()
                .setName(tenant.name)
                .setQuota(quota)
                .setQuotaManager(keeper)
                .setIfRevision(info.getRevision())
                .build(),
            PoolCalls.answer(set -> done(tenant, set, wanted), status -> failed(tenant, status)));
  }

  private void done(Tenant tenant, TenantInfo info, @Nullable Quota wanted) {
    LOG.info("tenant {} is known to the pool", tenant.name);
    tenant.busy = false;
    tenant.known = true;
    tenant.wanted = wanted;
    tenant.mostPriority = mostPriority(info);
    tenant.problem = null;
    tenant.pause.reset();
    changed.accept(tenant.name);
    settle(tenant);
  }

  private void failed(Tenant tenant, Status status) {
    String text = "tenant " + tenant.name + ": " + StatusText.of(status);
    LOG.debug("{}", text);
    boolean refused = status.getCode() == Status.Code.INVALID_ARGUMENT;
    tenant.problem =
        new PodState(
            refused ? Reason.REFUSED : Reason.UNREACHABLE,
            refused ? text : "the pool does not answer: " + text,
            Map.of(),
            false);
    changed.accept(tenant.name);
    timers.after(
        tenant.pause.next(),
        () -> {
          tenant.busy = false;
          settle(tenant);
        });
  }
}
