// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of a lease that each have an environment variable, which the shim knows, too. */
public final class LeasePartOptions {
  @Option(
      names = "-n",
      paramLabel = "GPUS",
      description = "how many GPUs (GPUPOOL_GPUS; default: 1)")
  private @Nullable String gpus;

  @Option(
      names = {"-p", "--fraction"},
      paramLabel = "FRACTION",
      description = "the part of each GPU, over 0 to 1 (GPUPOOL_FRACTION; default: 1)")
  private @Nullable String fraction;

  @Option(
      names = {"-m", "--memory"},
      paramLabel = "MEMORY",
      description = "memory of each GPU, instead of -p, such as 512Mi or 8Gi (GPUPOOL_MEMORY)")
  private @Nullable String memory;

  @Option(
      names = "--compute",
      paramLabel = "PERCENT",
      description =
          "the part of each GPU's time (GPUPOOL_COMPUTE; default: as much as of its memory)")
  private @Nullable String compute;

  @Mixin private ClassOptions classes = new ClassOptions();

  @Option(
      names = "--idle-timeout",
      paramLabel = "DURATION",
      description = {
        "the lease ends after so long without a call and without work on its GPUs, such as 30m",
        "(GPUPOOL_IDLE_TIMEOUT; default: never)"
      })
  private @Nullable String idleTimeout;

  @Option(
      names = "--time-limit",
      paramLabel = "DURATION",
      description = {
        "the lease ends so long after it was granted, such as 12h (GPUPOOL_TIME_LIMIT;",
        "default: never)"
      })
  private @Nullable String timeLimit;

  @Option(
      names = "--resume-window",
      paramLabel = "DURATION",
      description = {
        "how long the lease and its programs outlive a broken connection, such as 5m, up to 1h; 0:",
        "they end with it (GPUPOOL_RESUME_WINDOW; default: 60s)"
      })
  private @Nullable String resumeWindow;

  @Option(
      names = "--suspend-idle",
      paramLabel = "DURATION",
      description = {
        "after so long without work of its programs the lease is suspended: its share is free for",
        "others, and the next call of a program waits for it (GPUPOOL_SUSPEND_IDLE; default: never)"
      })
  private @Nullable String suspendIdle;

  /** The values that were given, by the names that variables and attach messages have for them. */
  public Map<String, String> values() {
    Map<String, String> values = new LinkedHashMap<>();
    if (gpus != null) {
      values.put("gpus", gpus);
    }
    if (fraction != null) {
      values.put("fraction", fraction);
    }
    if (memory != null) {
      values.put("memory", memory);
    }
    if (compute != null) {
      values.put("compute", compute);
    }
    classes.name().ifPresent(text -> values.put("class", text));
    if (idleTimeout != null) {
      values.put("idle_timeout", idleTimeout);
    }
    if (timeLimit != null) {
      values.put("time_limit", timeLimit);
    }
    if (resumeWindow != null) {
      values.put("resume_window", resumeWindow);
    }
    if (suspendIdle != null) {
      values.put("suspend_idle", suspendIdle);
    }
    return values;
  }
}
