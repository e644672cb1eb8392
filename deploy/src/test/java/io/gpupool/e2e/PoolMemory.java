// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Message;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListPartitionsRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.ListTenantsRequest;
import io.gpupool.control.v1.ListTokensRequest;
import io.gpupool.control.v1.PartitionInfo;
import io.gpupool.control.v1.PartitionRef;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.control.v1.TokenInfo;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a pool says it remembers, one entry a partition, tenant, token and lease, without what
 * follows from the others; that this agrees with the rest is checked while it is read.
 */
record PoolMemory(Map<String, Message> entries) {
  static PoolMemory of(Clients clients) {
    Map<String, Message> entries = new TreeMap<>();
    Map<String, Long> leasedBytes = new TreeMap<>();
    Map<String, Integer> leasesOf = new TreeMap<>();
    for (LeaseInfo lease :
        clients.pool().listLeases(ListRequest.getDefaultInstance()).getLeasesList()) {
      entries.put("lease " + lease.getId(), withoutUse(lease));
      leasesOf.merge(lease.getTenant(), 1, Integer::sum);
      for (GrantUse use : lease.getGrantsList()) {
        leasedBytes.merge(
            use.getGrant().getGpu() + "/" + use.getGrant().getPartition(),
            use.getGrant().getMemoryBytes(),
            Long::sum);
      }
    }
    for (PartitionInfo partition :
        clients
            .admin()
            .listPartitions(ListPartitionsRequest.getDefaultInstance())
            .getPartitionsList()) {
      assertThat(partition.getLeased().getMemoryBytes())
          .as("leased of %s", partition)
          .isEqualTo(
              leasedBytes.getOrDefault(
                  partition.getRef().getGpu() + "/" + partition.getRef().getName(), 0L));
      entries.put(
          partition(partition.getRef()),
          partition.toBuilder().clearLeased().clearLeases().clearRevision().build());
    }
    for (TenantInfo tenant :
        clients.admin().listTenants(ListTenantsRequest.getDefaultInstance()).getTenantsList()) {
      assertThat(tenant.getUsedLeases())
          .as("leases of %s", tenant)
          .isEqualTo(leasesOf.getOrDefault(tenant.getName(), 0));
      entries.put(
          "tenant " + tenant.getName(),
          tenant.toBuilder()
              .clearUsedGpus()
              .clearUsedLeases()
              .clearUsedMemoryBytes()
              .clearRevision()
              .build());
    }
    for (TokenInfo token :
        clients.admin().listTokens(ListTokensRequest.getDefaultInstance()).getTokensList()) {
      entries.put("token " + token.getId(), token);
    }
    return new PoolMemory(entries);
  }

  /** The lease and its grants, without their use and the time that has passed. */
  private static LeaseInfo withoutUse(LeaseInfo lease) {
    LeaseInfo.Builder remembered =
        lease.toBuilder()
            .clearState()
            .clearAgeMillis()
            .clearIdleMillis()
            .clearSessions()
            .clearGrants();
    for (GrantUse use : lease.getGrantsList()) {
      // The server chooses a port when it starts.
      remembered.addGrants(
          GrantUse.newBuilder().setGrant(use.getGrant().toBuilder().clearAddress()));
    }
    return remembered.build();
  }

  static String partition(PartitionRef ref) {
    return "partition " + ref.getGpu() + "/" + ref.getName();
  }

  /** The entries in which two memories differ. */
  Set<String> difference(PoolMemory other) {
    Set<String> different = new TreeSet<>(entries.keySet());
    different.addAll(other.entries.keySet());
    different.removeIf(key -> Objects.equals(entries.get(key), other.entries.get(key)));
    return different;
  }
}
