// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.v1.GpuSelector;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.rejection.InvalidFieldException;
import io.gpupool.server.select.Selector;
import io.gpupool.wire.ByteSize;
import io.gpupool.wire.ElapsedTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The validator of lease requests. Every field has a reason of its own. */
public final class LeaseRequestValidator {
  private static final int MAX_SELECTORS = 16;
  private static final int MAX_SELECTOR_LENGTH = 128;
  private static final int MAX_TENANT_LENGTH = 64;

  /** Long enough for a namespace and a name of Kubernetes. */
  private static final int MAX_GANG_LENGTH = 320;

  private static final int MAX_PRIORITY = 1000;
  private static final long MAX_WAIT_MILLIS = 30L * 24 * 3600 * 1000;
  private static final double MIN_FRACTION = 0.01;
  private static final int MAX_CONTAINERS = 64;
  private static final String UP_TO = "printable characters, at most ";
  private static final String SELECTORS = "selectors";
  private static final Pattern KUBERNETES_NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9.-]{0,252}");

  private LeaseRequestValidator() {}

  /** Returns the tenant that an admin names, or the caller's own. */
  private static String tenant(LeaseRequest request, Principal principal)
      throws InvalidFieldException {
    String tenant = request.getTenant().isEmpty() ? principal.tenant() : request.getTenant();
    require(
        tenant.length() <= MAX_TENANT_LENGTH, "tenant", shown(tenant), UP_TO + MAX_TENANT_LENGTH);
    return HolderName.plain(tenant);
  }

  private static Optional<String> partition(LeaseRequest request) throws InvalidFieldException {
    require(
        request.getPartition().length() <= MAX_TENANT_LENGTH
            && HolderName.plain(request.getPartition()).equals(request.getPartition()),
        "partition",
        shown(request.getPartition()),
        UP_TO + MAX_TENANT_LENGTH);
    return request.getPartition().isEmpty()
        ? Optional.empty()
        : Optional.of(request.getPartition());
  }

  /** Returns the checked request. */
  public static LeaseSpec check(LeaseRequest request, Principal principal)
      throws InvalidFieldException {
    int gpus = request.getGpus() == 0 ? 1 : request.getGpus();
    require(
        gpus > 0 && gpus <= GpuRequirements.MAX_GPUS,
        "gpus",
        Integer.toUnsignedString(gpus),
        "1 to " + GpuRequirements.MAX_GPUS);
    require(
        Math.abs((long) request.getPriority()) <= MAX_PRIORITY,
        "priority",
        Integer.toString(request.getPriority()),
        "-" + MAX_PRIORITY + " to " + MAX_PRIORITY);
    require(
        request.getWaitMillis() >= 0 && request.getWaitMillis() <= MAX_WAIT_MILLIS,
        "wait_millis",
        "over 30 days",
        "30 days at most");
    return new LeaseSpec(
        new GpuRequirements(
            gpus,
            size(request),
            compute(request),
            selectors(request.getSelectorsList()),
            partition(request).orElse(null),
            request.getHard(),
            request.getSpread(),
            request.getOneServer()),
        request.getPriority(),
        request.getWaitMillis(),
        new LeaseOwner(
            HolderName.of(request.getHolder()),
            tenant(request, principal),
            pod(request),
            request.hasGang() ? request.getGang().getName() : null),
        principal,
        limits(request),
        leaseClass(request),
        gang(request));
  }

  private static @Nullable Gang gang(LeaseRequest request) throws InvalidFieldException {
    if (!request.hasGang()) {
      return null;
    }
    String name = request.getGang().getName();
    require(
        !name.isEmpty() && name.length() <= MAX_GANG_LENGTH && HolderName.plain(name).equals(name),
        "gang.name",
        shown(name),
        "1 to " + MAX_GANG_LENGTH + " printable characters");
    int size = request.getGang().getSize();
    int maxSize = Gang.maxSize(Math.max(1, request.getGpus()));
    require(
        size >= 1 && size <= maxSize,
        "gang.size",
        Integer.toUnsignedString(size),
        "1 to " + maxSize + " for leases of as many GPUs");
    require(
        request.getWaitMillis() > 0,
        "wait_millis",
        "0 for a lease of a gang",
        "a time to wait for the others of the gang");
    return new Gang(name, size);
  }

  private static LeaseLimits limits(LeaseRequest request) throws InvalidFieldException {
    return new LeaseLimits(
        limit("idle_timeout_millis", request.getIdleTimeoutMillis(), LeaseLimits.MIN_IDLE_MILLIS),
        limit("time_limit_millis", request.getTimeLimitMillis(), LeaseLimits.MIN_TIME_MILLIS),
        limit("grace_millis", request.getGraceMillis(), LeaseLimits.MIN_GRACE_MILLIS),
        resumeWindow(request),
        suspendIdle(request));
  }

  private static long suspendIdle(LeaseRequest request) throws InvalidFieldException {
    long millis =
        limit(
            "suspend_idle_millis",
            request.getSuspendIdleMillis(),
            LeaseLimits.MIN_SUSPEND_IDLE_MILLIS);
    require(
        millis == 0 || resumeWindow(request) > 0,
        "suspend_idle_millis",
        millis + " ms without a resume window",
        "a resume window, too: programs of suspended leases outlive their connections");
    require(
        millis == 0 || request.getGpus() <= 1,
        "suspend_idle_millis",
        millis + " ms for " + request.getGpus() + " GPUs",
        "one GPU, as leases of several are not suspended yet");
    return millis;
  }

  private static long resumeWindow(LeaseRequest request) throws InvalidFieldException {
    if (!request.hasResumeWindowMillis()) {
      return LeaseLimits.DEFAULT_RESUME_WINDOW_MILLIS;
    }
    long millis = request.getResumeWindowMillis();
    require(
        LeaseLimits.isResumeWindow(millis),
        "resume_window_millis",
        millis < 0 ? "over 366 days" : new ElapsedTime(millis).toString(),
        "0 to 1 h");
    return millis;
  }

  private static long limit(String field, long millis, long leastMillis)
      throws InvalidFieldException {
    require(
        LeaseLimits.isAllowed(millis, leastMillis),
        field,
        millis < 0 ? "over 366 days" : millis + " ms",
        leastMillis / 1000 + " s to 366 days");
    return millis;
  }

  private static LeaseClass leaseClass(LeaseRequest request) throws InvalidFieldException {
    return LeaseClass.of(request.getClass_())
        .orElseThrow(() ->
            new InvalidFieldException(
                "class", Integer.toString(request.getClass_Value()), LeaseClass.TEXTS));
  }

  private static @Nullable LeasePod pod(LeaseRequest request) throws InvalidFieldException {
    if (!request.hasPod()) {
      return null;
    }
    LeasePod pod = LeasePod.of(request.getPod());
    requireName("pod.uid", pod.uid());
    requireName("pod.namespace", pod.namespace());
    requireName("pod.name", pod.name());
    requireName("pod.node", Objects.requireNonNullElse(pod.node(), "node"));
    require(
        !pod.containers().isEmpty() && pod.containers().size() <= MAX_CONTAINERS,
        "pod.containers",
        "a list of " + pod.containers().size(),
        "1 to " + MAX_CONTAINERS + " names");
    for (String container : pod.containers()) {
      requireName("pod.containers", container);
    }
    return pod;
  }

  private static void requireName(String field, String text) throws InvalidFieldException {
    require(isName(text), field, shown(text), "a name as Kubernetes has it");
  }

  /** Returns whether it has the characters of Kubernetes' names, and not too many. */
  private static boolean isName(String text) {
    return KUBERNETES_NAME.matcher(text).matches();
  }

  private static GpuRequirements.Size size(LeaseRequest request) throws InvalidFieldException {
    return switch (request.getSizeCase()) {
      case SIZE_NOT_SET -> new GpuRequirements.Size.Fraction(1);
      case FRACTION -> {
        double part = request.getFraction();
        require(
            part >= MIN_FRACTION && part <= 1,
            "fraction",
            Double.toString(part),
            "0.01 to 1, and a number of GPUs for more");
        yield new GpuRequirements.Size.Fraction(part);
      }
      case MEMORY_BYTES -> {
        long bytes = request.getMemoryBytes();
        require(
            bytes >= Share.MIN_MEMORY_BYTES,
            "memory_bytes",
            bytes < 0 ? "over 8 EiB" : new ByteSize(bytes).toString(),
            "1 MiB or more");
        yield new GpuRequirements.Size.Memory(bytes);
      }
    };
  }

  private static @Nullable Integer compute(LeaseRequest request) throws InvalidFieldException {
    return request.hasComputePercent() ? computeBasisPoints(request.getComputePercent()) : null;
  }

  /** Returns the checked percent of a GPU's compute in hundredths of a percent. */
  static int computeBasisPoints(double percent) throws InvalidFieldException {
    require(
        percent >= 1 && percent <= 100, "compute_percent", Double.toString(percent), "1 to 100");
    return (int) Math.round(percent * 100);
  }

  private static List<Selector> selectors(List<GpuSelector> messages) throws InvalidFieldException {
    require(
        messages.size() <= MAX_SELECTORS,
        SELECTORS,
        "a list of " + messages.size(),
        MAX_SELECTORS + " at most");
    List<Selector> selectors = new ArrayList<>();
    for (GpuSelector message : messages) {
      selectors.add(selector(message));
    }
    return selectors;
  }

  private static Selector selector(GpuSelector message) throws InvalidFieldException {
    String values = String.join("|", message.getValuesList());
    boolean isVersion = message.getOperator() == GpuSelector.Operator.OPERATOR_AT_LEAST;
    String shown = shown(message.getKey() + (isVersion ? ">=" : "=") + values);
    require(
        message.getValuesCount() <= MAX_SELECTORS,
        SELECTORS,
        shown,
        MAX_SELECTORS + " values at most");
    require(
        Stream.concat(Stream.of(message.getKey()), message.getValuesList().stream())
            .allMatch(text ->
                text.length() <= MAX_SELECTOR_LENGTH && HolderName.plain(text).equals(text)),
        SELECTORS,
        shown,
        UP_TO + MAX_SELECTOR_LENGTH);
    try {
      return Selector.of(message);
    } catch (IllegalArgumentException e) {
      throw new InvalidFieldException(SELECTORS, shown, String.valueOf(e.getMessage()));
    }
  }

  private static String shown(String text) {
    return "'" + HolderName.plain(text) + "'";
  }

  private static void require(boolean condition, String field, String value, String allowed)
      throws InvalidFieldException {
    if (!condition) {
      throw new InvalidFieldException(field, value, allowed);
    }
  }
}
