// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import io.gpupool.k8s.controller.pod.PodFacts.InPod;
import io.gpupool.k8s.controller.pod.PodFacts.Kind;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.GpuRequest.Size;
import io.gpupool.k8s.request.PodRequest;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * The leases that a pod needs: one for each of its containers and sidecars. Init containers run
 * before the containers and use the lease of one that has enough for them. Those for which no lease
 * is enough have leases of their own, and the leases of containers are asked for only when they
 * have ended.
 *
 * @param own init containers that have leases of their own, or use one of these
 */
record LeasePlan(List<RequiredLease> leases, Set<String> own) {
  LeasePlan {
    leases = List.copyOf(leases);
    own = Set.copyOf(own);
  }

  static LeasePlan of(PodRequest request, List<InPod> containers) {
    Map<String, List<String>> users = new LinkedHashMap<>();
    List<String> mains = new ArrayList<>();
    for (InPod container : containers) {
      if (container.kind() != Kind.INIT && request.containers().containsKey(container.name())) {
        users.put(container.name(), new ArrayList<>(List.of(container.name())));
        if (container.kind() == Kind.MAIN) {
          mains.add(container.name());
        }
      }
    }
    List<String> owners = new ArrayList<>();
    Set<String> own = new HashSet<>();
    for (InPod container : containers) {
      GpuRequest asked = request.containers().get(container.name());
      if (container.kind() != Kind.INIT || asked == null) {
        continue;
      }
      String name = container.name();
      Optional<String> lender = lender(mains, asked, request);
      if (lender.isEmpty()) {
        own.add(name);
        lender = lender(owners, asked, request);
      }
      if (lender.isPresent()) {
        users.computeIfAbsent(lender.get(), lends -> new ArrayList<>()).add(name);
      } else {
        owners.add(name);
        users.put(name, new ArrayList<>(List.of(name)));
      }
    }
    return new LeasePlan(leases(request, containers, users, owners, own), own);
  }

  private static Optional<String> lender(List<String> from, GpuRequest asked, PodRequest request) {
    return from.stream()
        .filter(name -> hasEnough(Objects.requireNonNull(request.containers().get(name)), asked))
        .findFirst();
  }

  private static List<RequiredLease> leases(
      PodRequest request,
      List<InPod> containers,
      Map<String, List<String>> users,
      List<String> owners,
      Set<String> own) {
    int lastOwn = -1;
    for (int i = 0; i < containers.size(); i++) {
      lastOwn = own.contains(containers.get(i).name()) ? i : lastOwn;
    }
    List<RequiredLease> leases = new ArrayList<>();
    for (int i = 0; i < containers.size(); i++) {
      String name = containers.get(i).name();
      if (users.containsKey(name)) {
        boolean init = owners.contains(name);
        boolean early = containers.get(i).kind() == Kind.SIDECAR && i < lastOwn;
        leases.add(
            new RequiredLease(
                name,
                Objects.requireNonNull(request.containers().get(name)),
                Objects.requireNonNull(users.get(name)),
                init || early || own.isEmpty(),
                !init));
      }
    }
    return leases;
  }

  /** Returns whether a lease for one request is enough for the other. */
  static boolean hasEnough(GpuRequest lease, GpuRequest asked) {
    return lease.gpus() >= asked.gpus()
        && hasEnoughMemory(lease.size(), asked.size())
        && hasEnoughCompute(lease, asked);
  }

  private static boolean hasEnoughMemory(Size lease, Size asked) {
    return switch (lease) {
      case Size.Fraction(BigDecimal part) ->
          asked instanceof Size.Fraction(BigDecimal other) && part.compareTo(other) >= 0;
      case Size.Memory(long bytes) -> asked instanceof Size.Memory(long other) && bytes >= other;
    };
  }

  private static boolean hasEnoughCompute(GpuRequest lease, GpuRequest asked) {
    Optional<BigDecimal> has = compute(lease);
    Optional<BigDecimal> needs = compute(asked);
    if (has.isEmpty() || needs.isEmpty()) {
      // Both ask for the same part of time as of memory.
      return has.isEmpty() && needs.isEmpty();
    }
    return has.get().compareTo(needs.get()) >= 0;
  }

  /** Returns the percentage of each GPU's time, if it is known without the GPU. */
  private static Optional<BigDecimal> compute(GpuRequest request) {
    if (request.computePercent() != null) {
      return Optional.of(BigDecimal.valueOf(request.computePercent()));
    }
    return request.size() instanceof Size.Fraction(BigDecimal part)
        ? Optional.of(part.movePointRight(2))
        : Optional.empty();
  }
}
