// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import io.gpupool.control.v1.Gang;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseClass;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.wire.ByteSize;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Options of a lease request, from the command line and environment variables; null where one was
 * not given. Their form is checked here, their meaning by the pool.
 *
 * @param part the part of GPUs
 * @param placement where the part may be
 * @param waiting how the request waits
 * @param hard whether the compute share is also a limit
 * @param leaseClass the lease's class
 * @param limits the limits of the lease's life
 */
public record LeaseOptions(
    Part part,
    Placement placement,
    Waiting waiting,
    boolean hard,
    @Nullable String leaseClass,
    Limits limits) {
  public static final LeaseOptions NOTHING =
      new LeaseOptions(
          new Part(null, null, null, null),
          new Placement(Map.of(), null, false, false),
          new Waiting(null, null, null),
          false,
          null,
          new Limits(null, null, null, null));
  private static final Pattern NUMBER = Pattern.compile("\\d{1,9}(\\.\\d{0,18})?|\\.\\d{1,18}");
  private static final Pattern DURATION = Pattern.compile("(\\d{1,9})(ms|s|m|h|d)?");

  /** The number of GPUs, and how much of each. */
  public record Part(
      @Nullable String gpus,
      @Nullable String fraction,
      @Nullable String memory,
      @Nullable String compute) {
    /** Fraction and memory go together: a part that has one of them has its size. */
    private Part orElse(Part other) {
      boolean sized = fraction != null || memory != null;
      return new Part(
          firstOf(gpus, other.gpus),
          sized ? fraction : other.fraction,
          sized ? memory : other.memory,
          firstOf(compute, sized ? null : other.compute));
    }

    private void addTo(LeaseRequest.Builder request) {
      if (gpus != null) {
        request.setGpus(count(gpus));
      }
      if (fraction != null && memory != null) {
        throw new IllegalArgumentException(
            "both a fraction (" + fraction + ") and memory (" + memory + "); give one");
      }
      if (fraction != null) {
        request.setFraction(number("fraction", fraction));
      }
      if (memory != null) {
        request.setMemoryBytes(ByteSize.parse(memory).bytes());
      }
      if (compute != null) {
        request.setComputePercent(number("compute", compute.replaceFirst("%$", "")));
      }
    }
  }

  /** The GPUs that may serve the request. */
  public record Placement(
      Map<String, String> selectors,
      @Nullable String partition,
      boolean spread,
      boolean oneServer) {
    public Placement {
      selectors = Map.copyOf(selectors);
    }

    private Placement orElse(Placement other) {
      Map<String, String> both = new LinkedHashMap<>(other.selectors);
      both.putAll(selectors);
      return new Placement(
          both,
          firstOf(partition, other.partition),
          spread || other.spread,
          oneServer || other.oneServer);
    }

    private void addTo(LeaseRequest.Builder request) {
      request.addAllSelectors(GpuSelectors.of(selectors)).setSpread(spread).setOneServer(oneServer);
      if (partition != null) {
        request.setPartition(partition);
      }
    }
  }

  /** The longest wait for room, the priority in the queue, and the gang of the lease. */
  public record Waiting(@Nullable String limit, @Nullable Integer priority, @Nullable Gang gang) {
    private Waiting orElse(Waiting other) {
      return new Waiting(
          firstOf(limit, other.limit),
          firstOf(priority, other.priority),
          firstOf(gang, other.gang));
    }

    private void addTo(LeaseRequest.Builder request) {
      if (limit != null) {
        request.setWaitMillis(duration(limit).toMillis());
      }
      if (priority != null) {
        request.setPriority(priority);
      }
      if (gang != null) {
        request.setGang(gang);
      }
    }
  }

  /**
   * The time without use, and the time in all, after which the pool ends the lease, the time that
   * the lease's sessions outlive a broken connection, and the time without use after which the
   * lease is suspended.
   */
  public record Limits(
      @Nullable String idle,
      @Nullable String time,
      @Nullable String resumeWindow,
      @Nullable String suspendIdle) {
    private Limits orElse(Limits other) {
      return new Limits(
          firstOf(idle, other.idle),
          firstOf(time, other.time),
          firstOf(resumeWindow, other.resumeWindow),
          firstOf(suspendIdle, other.suspendIdle));
    }

    private void addTo(LeaseRequest.Builder request) {
      if (idle != null) {
        request.setIdleTimeoutMillis(duration(idle).toMillis());
      }
      if (time != null) {
        request.setTimeLimitMillis(duration(time).toMillis());
      }
      if (resumeWindow != null) {
        request.setResumeWindowMillis(duration(resumeWindow).toMillis());
      }
      if (suspendIdle != null) {
        request.setSuspendIdleMillis(duration(suspendIdle).toMillis());
      }
    }
  }

  /** Reads options from named values, such as an attach message's or the environment's. */
  public static LeaseOptions from(Function<String, Optional<String>> values) {
    return new LeaseOptions(
        new Part(
            values.apply("gpus").orElse(null),
            values.apply("fraction").orElse(null),
            values.apply("memory").orElse(null),
            values.apply("compute").orElse(null)),
        NOTHING.placement,
        NOTHING.waiting,
        false,
        values.apply("class").orElse(null),
        new Limits(
            values.apply("idle_timeout").orElse(null),
            values.apply("time_limit").orElse(null),
            values.apply("resume_window").orElse(null),
            values.apply("suspend_idle").orElse(null)));
  }

  /** Returns the same part of GPUs with the options that only a command line has. */
  public LeaseOptions with(Placement placement, Waiting waiting, boolean hard) {
    return new LeaseOptions(part, placement, waiting, hard, leaseClass, limits);
  }

  /** Returns these options, and {@code other} where they leave something open. */
  public LeaseOptions orElse(LeaseOptions other) {
    return new LeaseOptions(
        part.orElse(other.part),
        placement.orElse(other.placement),
        waiting.orElse(other.waiting),
        hard || other.hard,
        firstOf(leaseClass, other.leaseClass),
        limits.orElse(other.limits));
  }

  /**
   * Returns the request to send.
   *
   * @throws IllegalArgumentException if a value has the wrong form; the message names it
   */
  public LeaseRequest request(Holder holder) {
    LeaseRequest.Builder request = LeaseRequest.newBuilder().setHolder(holder).setHard(hard);
    part.addTo(request);
    placement.addTo(request);
    waiting.addTo(request);
    if (leaseClass != null) {
      request.setClass_(leaseClass(leaseClass.strip()));
    }
    limits.addTo(request);
    return request.build();
  }

  /** Reads {@code 90}, {@code 90s}, {@code 5m}, {@code 2h}, {@code 1d} or {@code 500ms}. */
  public static Duration duration(String text) {
    Matcher form = DURATION.matcher(text.strip());
    if (!form.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is not a duration; write for example 30s, 5m or 1h");
    }
    long count = Long.parseLong(form.group(1));
    return switch (form.group(2) == null ? "s" : form.group(2)) {
      case "ms" -> Duration.ofMillis(count);
      case "m" -> Duration.ofMinutes(count);
      case "h" -> Duration.ofHours(count);
      case "d" -> Duration.ofDays(count);
      default -> Duration.ofSeconds(count);
    };
  }

  /** Reads the class of leases that a text names. */
  public static LeaseClass leaseClass(String text) {
    return switch (text) {
      case "batch" -> LeaseClass.LEASE_CLASS_BATCH;
      case "latency" -> LeaseClass.LEASE_CLASS_LATENCY;
      default ->
          throw new IllegalArgumentException(
              "there is no class '" + text + "' of leases; give batch or latency");
    };
  }

  private static <T> @Nullable T firstOf(@Nullable T first, @Nullable T second) {
    return first == null ? second : first;
  }

  private static int count(String text) {
    try {
      return Math.max(-1, Integer.parseInt(text.strip()));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("'" + text + "' is not a number of GPUs", e);
    }
  }

  private static double number(String what, String text) {
    if (NUMBER.matcher(text.strip()).matches()) {
      return Double.parseDouble(text.strip());
    }
    throw new IllegalArgumentException("'" + text + "' is not a number, for " + what);
  }
}
