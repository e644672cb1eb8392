// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.control.v1.Quota;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.Quantity;
import java.math.BigDecimal;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The tenant that a namespace names, and the tenant's quota.
 *
 * @param tenant the owner of the namespace's leases
 * @param quota the tenant's limits, as annotations set them; null: they set none
 * @param problem the error in the annotations; null: there is none
 */
record TenantQuota(String tenant, @Nullable Quota quota, @Nullable String problem) {
  private static final Pattern NAME = Pattern.compile("[a-z0-9](?:[-a-z0-9._]{0,61}[a-z0-9])?");
  private static final BigDecimal MAX_LEASES = BigDecimal.valueOf(Integer.MAX_VALUE);

  static TenantQuota of(String namespace, Map<String, String> annotations) {
    String tenant = annotations.getOrDefault(Names.TENANT, namespace);
    try {
      if (!NAME.matcher(tenant).matches()) {
        throw wrong(annotations, Names.TENANT, "is no name of a tenant");
      }
      return new TenantQuota(tenant, quota(annotations), null);
    } catch (IllegalArgumentException e) {
      return new TenantQuota(tenant, null, "namespace " + namespace + ": " + e.getMessage());
    }
  }

  private static @Nullable Quota quota(Map<String, String> annotations) {
    Quota.Builder quota = Quota.newBuilder();
    amount(annotations, Names.QUOTA_GPUS).ifPresent(gpus -> quota.setGpus(gpus.doubleValue()));
    Optional<BigDecimal> memory = amount(annotations, Names.QUOTA_MEMORY);
    Optional<BigDecimal> leases = amount(annotations, Names.QUOTA_LEASES);
    try {
      memory.ifPresent(bytes -> quota.setMemoryBytes(bytes.longValueExact()));
    } catch (ArithmeticException e) {
      throw wrong(annotations, Names.QUOTA_MEMORY, "is not a number of bytes");
    }
    if (leases
        .filter(n -> n.stripTrailingZeros().scale() > 0 || n.compareTo(MAX_LEASES) > 0)
        .isPresent()) {
      throw wrong(annotations, Names.QUOTA_LEASES, "is not a number of leases");
    }
    leases.ifPresent(count -> quota.setLeases(count.intValueExact()));
    Quota built = quota.build();
    return built.equals(Quota.getDefaultInstance()) ? null : built;
  }

  private static Optional<BigDecimal> amount(Map<String, String> annotations, String name) {
    String text = annotations.get(name);
    if (text == null) {
      return Optional.empty();
    }
    BigDecimal amount;
    try {
      amount = Quantity.parse(text.strip());
    } catch (NumberFormatException e) {
      throw wrong(annotations, name, String.valueOf(e.getMessage()));
    }
    if (amount.signum() < 0) {
      throw wrong(annotations, name, "is less than nothing");
    }
    return Optional.of(amount);
  }

  private static IllegalArgumentException wrong(
      Map<String, String> annotations, String name, String why) {
    return new IllegalArgumentException(
        "annotation " + name + ": '" + annotations.get(name) + "' " + why);
  }
}
