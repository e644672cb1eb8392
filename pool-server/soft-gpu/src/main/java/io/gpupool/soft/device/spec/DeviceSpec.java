// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.spec;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The software GPUs of a machine as an option names them, {@code soft[:N][,mem=SIZE][,cc=X.Y]}.
 *
 * @param devices how many
 * @param memoryBytes of each
 * @param computeCapability presented, 10 * major + minor
 */
public record DeviceSpec(int devices, long memoryBytes, int computeCapability) {
  public static final int MAX_DEVICES = 32;
  public static final int DEFAULT_COMPUTE_CAPABILITY = 90;

  private static final long MIN_MEMORY_BYTES = 16L << 20;
  private static final long MAX_MEMORY_BYTES = 1L << 39;
  private static final long MAX_DEFAULT_MEMORY_BYTES = 8L << 30;
  private static final long DEFAULT_MEMORY_STEP_BYTES = 256L << 20;
  private static final Pattern SIZE = Pattern.compile("(\\d{1,15})([kmgt]?)(i?)b?");
  private static final Pattern CAPABILITY = Pattern.compile("(\\d{1,2})\\.(\\d)");

  public DeviceSpec {
    if (devices < 1 || devices > MAX_DEVICES) {
      throw new IllegalArgumentException(
          "there can be 1 to " + MAX_DEVICES + " software GPUs, not " + devices);
    }
    if (memoryBytes < MIN_MEMORY_BYTES || memoryBytes > MAX_MEMORY_BYTES) {
      throw new IllegalArgumentException(
          "a software GPU can have 16 MiB to 512 GiB of memory, not " + memoryBytes + " bytes");
    }
    ComputeLimits.of(computeCapability);
  }

  /**
   * Parses the written form.
   *
   * @param text for example {@code soft:2,mem=8Gi,cc=9.0}
   * @param hostMemoryBytes of this machine, for the default: half of it shared by the devices, at
   *     most 8 GiB each
   * @throws IllegalArgumentException naming the part that cannot be understood
   */
  public static DeviceSpec parse(String text, long hostMemoryBytes) {
    String[] parts = text.split(",", -1);
    int devices = devices(parts[0], text);
    long memoryBytes = defaultMemory(hostMemoryBytes / 2 / Math.max(1, devices));
    int computeCapability = DEFAULT_COMPUTE_CAPABILITY;
    for (int index = 1; index < parts.length; index++) {
      String part = parts[index].strip();
      if (part.startsWith("mem=")) {
        memoryBytes = size(part.substring("mem=".length()));
      } else if (part.startsWith("cc=")) {
        computeCapability = capability(part.substring("cc=".length()));
      } else {
        throw new IllegalArgumentException(
            "'" + part + "' in '" + text + "': expected mem=SIZE or cc=X.Y");
      }
    }
    return new DeviceSpec(devices, memoryBytes, computeCapability);
  }

  private static int devices(String part, String text) {
    if (part.equals("soft")) {
      return 1;
    }
    if (!part.matches("soft:\\d{1,4}")) {
      throw new IllegalArgumentException(
          "'" + text + "': expected soft:N[,mem=SIZE][,cc=X.Y], such as soft:2,mem=8Gi");
    }
    return Integer.parseInt(part.substring("soft:".length()));
  }

  private static long defaultMemory(long shareBytes) {
    long bytes = Math.min(MAX_DEFAULT_MEMORY_BYTES, shareBytes);
    return Math.max(DEFAULT_MEMORY_STEP_BYTES, bytes - bytes % DEFAULT_MEMORY_STEP_BYTES);
  }

  private static long size(String text) {
    Matcher matcher = SIZE.matcher(text.toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new IllegalArgumentException("'" + text + "' is not a size such as 8Gi or 512Mi");
    }
    int power = "kmgt".indexOf(matcher.group(2)) + (matcher.group(2).isEmpty() ? 0 : 1);
    long unit = 1;
    for (int step = 0; step < power; step++) {
      unit *= matcher.group(3).isEmpty() ? 1000 : 1024;
    }
    try {
      return Math.multiplyExact(Long.parseLong(matcher.group(1)), unit);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException("'" + text + "' is too large a size", e);
    }
  }

  private static int capability(String text) {
    Matcher matcher = CAPABILITY.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("'" + text + "' is not a compute capability such as 9.0");
    }
    return Integer.parseInt(matcher.group(1)) * 10 + Integer.parseInt(matcher.group(2));
  }
}
