// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;

/**
 * Variables of a program's environment that NVIDIA's driver reads when it starts and that concern
 * nobody but the program. They travel by name and value; those of other names or with other values
 * than the driver documents do not.
 *
 * <pre>
 *   NAME=VALUE,NAME=VALUE,...
 * </pre>
 *
 * @param variables by name
 */
public record DriverEnvironment(Map<String, String> variables) {
  public static final DriverEnvironment NONE = new DriverEnvironment(Map.of());

  private static final Pattern SWITCH = Pattern.compile("[01]");
  private static final Pattern LOADING = Pattern.compile("DEFAULT|EAGER|LAZY");

  /** Names, and what values they can have. */
  private static final Map<String, Pattern> KNOWN =
      new TreeMap<>(
          Map.ofEntries(
              Map.entry("CUDA_AUTO_BOOST", SWITCH),
              Map.entry(
                  "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
                  Pattern.compile("100|[1-9]?[0-9]")),
              Map.entry("CUDA_DEVICE_MAX_CONNECTIONS", Pattern.compile("3[0-2]|[12][0-9]|[1-9]")),
              Map.entry("CUDA_DISABLE_JIT", SWITCH),
              Map.entry("CUDA_DISABLE_PTX_JIT", SWITCH),
              Map.entry("CUDA_FORCE_JIT", SWITCH),
              Map.entry("CUDA_FORCE_PTX_JIT", SWITCH),
              Map.entry("CUDA_GRAPHS_USE_NODE_PRIORITY", SWITCH),
              Map.entry("CUDA_MODULE_DATA_LOADING", LOADING),
              Map.entry("CUDA_MODULE_LOADING", LOADING),
              Map.entry("CUDA_SCALE_LAUNCH_QUEUES", Pattern.compile("0\\.25x|0\\.5x|2x|4x"))));

  public DriverEnvironment {
    variables = Map.copyOf(variables);
    variables.forEach((name, value) -> {
      if (!isKnown(name, value)) {
        throw new IllegalArgumentException("not a variable of the driver: " + name);
      }
    });
  }

  public boolean isEmpty() {
    return variables.isEmpty();
  }

  /** The names that there are. */
  public static List<String> names() {
    return List.copyOf(KNOWN.keySet());
  }

  /**
   * Those of a program's variables that can be had.
   *
   * @param onIgnored gets names and values of those that cannot
   */
  public static DriverEnvironment of(
      Map<String, String> asked, BiConsumer<String, String> onIgnored) {
    Map<String, String> kept = new LinkedHashMap<>();
    asked.forEach((name, value) -> {
      if (isKnown(name, value)) {
        kept.put(name, value);
      } else {
        onIgnored.accept(name, value);
      }
    });
    return new DriverEnvironment(kept);
  }

  /** Reads what {@link #text} has written. */
  public static DriverEnvironment parse(String text) throws WireException {
    Map<String, String> variables = new LinkedHashMap<>();
    for (String variable : text.isEmpty() ? new String[0] : text.split(",", KNOWN.size() + 1)) {
      int equals = variable.indexOf('=');
      String name = variable.substring(0, Math.max(0, equals));
      String value = variable.substring(equals + 1);
      if (!isKnown(name, value) || variables.put(name, value) != null) {
        throw new WireException("not variables of the driver: " + text);
      }
    }
    return new DriverEnvironment(variables);
  }

  /** All of them in one value of a message. */
  public String text() {
    StringBuilder text = new StringBuilder();
    new TreeMap<>(variables)
        .forEach((name, value) -> {
          text.append(text.isEmpty() ? "" : ",").append(name).append('=').append(value);
        });
    return text.toString();
  }

  /** Those that a process with such an environment does not have yet. */
  public DriverEnvironment missingIn(Map<String, String> environment) {
    Map<String, String> missing = new LinkedHashMap<>(variables);
    missing.entrySet().removeAll(environment.entrySet());
    return new DriverEnvironment(missing);
  }

  private static boolean isKnown(String name, String value) {
    Pattern values = KNOWN.get(name);
    return values != null && values.matcher(value).matches();
  }
}
