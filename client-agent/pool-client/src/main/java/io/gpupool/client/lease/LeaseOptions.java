// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.wire.ByteSize;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Options of a lease request, from the command line and environment variables. Their form is
 * checked here, their meaning by the pool.
 */
public record LeaseOptions(
    Optional<String> gpus,
    Optional<String> fraction,
    Optional<String> memory,
    Optional<String> compute,
    Map<String, String> selectors,
    Optional<String> partition,
    Optional<String> waitLimit,
    Optional<Integer> priority,
    boolean hard,
    boolean spread,
    boolean oneServer,
    Optional<String> leaseClass,
    Optional<String> idleTimeout,
    Optional<String> timeLimit) {
  public static final LeaseOptions NOTHING =
      new LeaseOptions(
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Map.of(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          false,
          false,
          false,
          Optional.empty(),
          Optional.empty(),
          Optional.empty());
  private static final Pattern NUMBER = Pattern.compile("\\d{1,9}(\\.\\d{0,18})?|\\.\\d{1,18}");
  private static final Pattern DURATION = Pattern.compile("(\\d{1,9})(ms|s|m|h|d)?");

  public LeaseOptions {
    selectors = Map.copyOf(selectors);
  }

  /** Reads a wish from named values, such as an attach message's or the environment's. */
  public static LeaseOptions from(Function<String, Optional<String>> values) {
    return new LeaseOptions(
        values.apply("gpus"),
        values.apply("fraction"),
        values.apply("memory"),
        values.apply("compute"),
        Map.of(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        false,
        false,
        false,
        values.apply("class"),
        values.apply("idle_timeout"),
        values.apply("time_limit"));
  }

  /** The same part of GPUs with what only a command line says. */
  public LeaseOptions with(
      Map<String, String> selectors,
      Optional<String> partition,
      Optional<String> waitLimit,
      Optional<Integer> priority,
      boolean hard,
      boolean spread,
      boolean oneServer) {
    return new LeaseOptions(
        gpus,
        fraction,
        memory,
        compute,
        selectors,
        partition,
        waitLimit,
        priority,
        hard,
        spread,
        oneServer,
        leaseClass,
        idleTimeout,
        timeLimit);
  }

  /**
   * Takes from {@code other} what this wish leaves open. Fraction and memory go together: who says
   * one of them has said how large.
   */
  public LeaseOptions orElse(LeaseOptions other) {
    boolean sized = fraction.isPresent() || memory.isPresent();
    Map<String, String> both = new LinkedHashMap<>(other.selectors);
    both.putAll(selectors);
    return new LeaseOptions(
        gpus.or(() -> other.gpus),
        sized ? fraction : other.fraction,
        sized ? memory : other.memory,
        compute.or(() -> sized ? Optional.empty() : other.compute),
        both,
        partition.or(() -> other.partition),
        waitLimit.or(() -> other.waitLimit),
        priority.or(() -> other.priority),
        hard || other.hard,
        spread || other.spread,
        oneServer || other.oneServer,
        leaseClass.or(() -> other.leaseClass),
        idleTimeout.or(() -> other.idleTimeout),
        timeLimit.or(() -> other.timeLimit));
  }

  /**
   * The request to send.
   *
   * @throws IllegalArgumentException if a value has the wrong form; the message names it
   */
  public LeaseRequest request(Holder holder) {
    LeaseRequest.Builder request = LeaseRequest.newBuilder().setHolder(holder);
    gpus.ifPresent(text -> request.setGpus(count(text)));
    if (fraction.isPresent() && memory.isPresent()) {
      throw new IllegalArgumentException(
          "both a fraction (" + fraction.get() + ") and memory (" + memory.get() + "); give one");
    }
    fraction.ifPresent(text -> request.setFraction(number("fraction", text)));
    memory.ifPresent(text -> request.setMemoryBytes(ByteSize.parse(text).bytes()));
    compute.ifPresent(
        text -> request.setComputePercent(number("compute", text.replaceFirst("%$", ""))));
    request.putAllSelectors(selectors);
    partition.ifPresent(request::setPartition);
    waitLimit.ifPresent(text -> request.setWaitMillis(duration(text).toMillis()));
    priority.ifPresent(request::setPriority);
    request.setHard(hard).setSpread(spread).setOneServer(oneServer);
    leaseClass.ifPresent(text -> request.setClass_(text.strip()));
    idleTimeout.ifPresent(text -> request.setIdleTimeoutMillis(duration(text).toMillis()));
    timeLimit.ifPresent(text -> request.setTimeLimitMillis(duration(text).toMillis()));
    return request.build();
  }

  /** Reads {@code 90}, {@code 90s}, {@code 5m}, {@code 2h}, {@code 1d} or {@code 500ms}. */
  public static Duration duration(String text) {
    Matcher form = DURATION.matcher(text.strip());
    if (!form.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is no duration; write for example 30s, 5m or 1h");
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

  private static int count(String text) {
    try {
      return Math.max(-1, Integer.parseInt(text.strip()));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("'" + text + "' is no number of GPUs", e);
    }
  }

  private static double number(String what, String text) {
    if (NUMBER.matcher(text.strip()).matches()) {
      return Double.parseDouble(text.strip());
    }
    throw new IllegalArgumentException("'" + text + "' is no number, for " + what);
  }
}
