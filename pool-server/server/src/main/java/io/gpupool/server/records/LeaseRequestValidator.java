// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.rejection.InvalidRequestException;
import io.gpupool.server.select.Selector;
import io.gpupool.wire.ByteSize;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/** The validator of lease requests. Every bound has a message of its own. */
public final class LeaseRequestValidator {
  private static final int MAX_SELECTORS = 16;
  private static final int MAX_SELECTOR_LENGTH = 128;
  private static final int MAX_TENANT_LENGTH = 64;
  private static final int MAX_CLASS_LENGTH = 64;
  private static final int MAX_PRIORITY = 1000;
  private static final long MAX_WAIT_MILLIS = 30L * 24 * 3600 * 1000;
  private static final double MIN_FRACTION = 0.01;
  private static final int MAX_CONTAINERS = 64;
  private static final Pattern KUBERNETES_NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9.-]{0,252}");

  private LeaseRequestValidator() {}

  /** The tenant that an admin names, or the caller's own. */
  private static String tenant(LeaseRequest request, Principal principal)
      throws InvalidRequestException {
    String tenant = request.getTenant().isEmpty() ? principal.tenant() : request.getTenant();
    require(
        tenant.length() <= MAX_TENANT_LENGTH,
        "the tenant's name has over " + MAX_TENANT_LENGTH + " characters");
    return HolderName.plain(tenant);
  }

  private static Optional<String> partition(LeaseRequest request) throws InvalidRequestException {
    require(
        request.getPartition().length() <= MAX_TENANT_LENGTH
            && HolderName.plain(request.getPartition()).equals(request.getPartition()),
        "there are no partitions of such a name");
    return request.getPartition().isEmpty()
        ? Optional.empty()
        : Optional.of(request.getPartition());
  }

  public static LeaseSpec check(LeaseRequest request, Principal principal)
      throws InvalidRequestException {
    int gpus = request.getGpus() == 0 ? 1 : request.getGpus();
    require(
        gpus > 0 && gpus <= GpuRequirements.MAX_GPUS,
        "asked for "
            + Integer.toUnsignedString(gpus)
            + " GPUs; give 1 to "
            + GpuRequirements.MAX_GPUS);
    require(
        Math.abs((long) request.getPriority()) <= MAX_PRIORITY,
        "priority " + request.getPriority() + " is beyond " + MAX_PRIORITY);
    require(
        request.getWaitMillis() >= 0 && request.getWaitMillis() <= MAX_WAIT_MILLIS,
        "the wait is over 30 days");
    return new LeaseSpec(
        new GpuRequirements(
            gpus,
            size(request),
            compute(request),
            selectors(request.getSelectorsMap()),
            partition(request),
            request.getHard(),
            request.getSpread(),
            request.getOneServer()),
        request.getPriority(),
        request.getWaitMillis(),
        HolderName.of(request.getHolder()),
        principal,
        tenant(request, principal),
        limits(request),
        leaseClass(request),
        pod(request));
  }

  private static LeaseLimits limits(LeaseRequest request) throws InvalidRequestException {
    try {
      return new LeaseLimits(
          request.getIdleTimeoutMillis(), request.getTimeLimitMillis(), request.getGraceMillis());
    } catch (IllegalArgumentException e) {
      throw new InvalidRequestException(e.getMessage());
    }
  }

  private static LeaseClass leaseClass(LeaseRequest request) throws InvalidRequestException {
    String text = request.getClass_();
    require(
        text.length() <= MAX_CLASS_LENGTH && HolderName.plain(text).equals(text),
        "the class has over "
            + MAX_CLASS_LENGTH
            + " characters, or some that cannot be printed; give batch or latency");
    try {
      return LeaseClass.of(text);
    } catch (IllegalArgumentException e) {
      throw new InvalidRequestException(e.getMessage());
    }
  }

  private static Optional<LeasePod> pod(LeaseRequest request) throws InvalidRequestException {
    if (!request.hasPod()) {
      return Optional.empty();
    }
    LeasePod pod = LeasePod.of(request.getPod());
    require(isName(pod.uid()), "a pod is to be named by its UID");
    require(
        isName(pod.namespace()) && isName(pod.name()),
        "a pod is to be named by its namespace and name, too");
    require(
        pod.node().stream().allMatch(LeaseRequestValidator::isName),
        "a pod's node is to be named by its name");
    require(
        !pod.containers().isEmpty() && pod.containers().size() <= MAX_CONTAINERS,
        "a pod's lease is for 1 to " + MAX_CONTAINERS + " of its containers");
    require(
        pod.containers().stream().allMatch(LeaseRequestValidator::isName),
        "the containers of a pod's lease are to have their names");
    return Optional.of(pod);
  }

  /** Whether it has the characters of Kubernetes' names, and not too many. */
  private static boolean isName(String text) {
    return KUBERNETES_NAME.matcher(text).matches();
  }

  private static GpuRequirements.Size size(LeaseRequest request) throws InvalidRequestException {
    return switch (request.getSizeCase()) {
      case SIZE_NOT_SET -> new GpuRequirements.Size.Fraction(1);
      case FRACTION -> {
        double part = request.getFraction();
        require(
            part >= MIN_FRACTION && part <= 1,
            "asked for a fraction of " + part + "; give 0.01 to 1, and a number of GPUs for more");
        yield new GpuRequirements.Size.Fraction(part);
      }
      case MEMORY_BYTES -> {
        long bytes = request.getMemoryBytes();
        require(
            bytes >= Share.MIN_MEMORY_BYTES,
            "asked for "
                + (bytes < 0 ? "over 8 EiB" : new ByteSize(bytes))
                + " of memory; the least is 1 MiB");
        yield new GpuRequirements.Size.Memory(bytes);
      }
    };
  }

  private static OptionalInt compute(LeaseRequest request) throws InvalidRequestException {
    if (!request.hasComputePercent()) {
      return OptionalInt.empty();
    }
    double percent = request.getComputePercent();
    require(
        percent >= 1 && percent <= 100,
        "asked for " + percent + " percent of compute; give 1 to 100");
    return OptionalInt.of((int) Math.round(percent * 100));
  }

  private static Map<String, String> selectors(Map<String, String> selectors)
      throws InvalidRequestException {
    require(selectors.size() <= MAX_SELECTORS, "over " + MAX_SELECTORS + " selectors");
    for (Map.Entry<String, String> selector : selectors.entrySet()) {
      String value = selector.getValue();
      require(
          selector.getKey().length() <= MAX_SELECTOR_LENGTH
              && value.length() <= MAX_SELECTOR_LENGTH
              && HolderName.plain(value).equals(value)
              && HolderName.plain(selector.getKey()).equals(selector.getKey()),
          "a selector has over "
              + MAX_SELECTOR_LENGTH
              + " characters, or some that cannot be printed");
      try {
        Selector.of(selector.getKey(), value);
      } catch (IllegalArgumentException e) {
        throw new InvalidRequestException(e.getMessage());
      }
    }
    return selectors;
  }

  private static void require(boolean condition, String message) throws InvalidRequestException {
    if (!condition) {
      throw new InvalidRequestException(message);
    }
  }
}
