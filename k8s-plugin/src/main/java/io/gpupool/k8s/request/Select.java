// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** The annotation {@link Names#SELECT}: {@code model=*H100*,cc>=8.0,label.zone=a}. */
final class Select {
  private static final String LABEL = "label.";
  private static final Set<String> PROPERTIES =
      Set.of("model", "server", "gpu", "uuid", "cc", "driver");
  private static final Set<String> VERSIONS = Set.of("cc", "driver");
  private static final Pattern VERSION = Pattern.compile("[0-9]{1,6}(\\.[0-9]{1,6}){0,3}");
  private static final Pattern LABEL_NAME = Pattern.compile("[A-Za-z0-9]([A-Za-z0-9._/-]*)");
  private static final Pattern PRINTABLE = Pattern.compile("[\\P{Cntrl}]*");
  private static final int MAX_SELECTORS = 16;
  private static final int MAX_LENGTH = 128;
  private static final String HOW =
      "; write KEY=VALUE separated by commas, where KEY is model, server, gpu, uuid, cc, driver or"
          + " label.NAME, and 'cc>=8.0' or 'driver>=12.4' for later versions, too.";

  private Select() {}

  /** Returns the selectors as in a lease request; {@code cc>=8.0} has the key {@code cc>}. */
  static Map<String, String> parse(String text, List<String> warnings) throws RefusedException {
    Map<String, String> selectors = new LinkedHashMap<>();
    for (String part : text.split(",", -1)) {
      int equals = part.indexOf('=');
      if (equals < 1) {
        throw wrong("'" + Shapes.shortened(part.strip()) + "' is no selector");
      }
      String key = key(part.substring(0, equals).strip(), warnings);
      String value = part.substring(equals + 1).strip();
      check(key, value);
      if (selectors.put(key, value) != null) {
        throw wrong("'" + key + "' stands there twice");
      }
    }
    if (selectors.size() > MAX_SELECTORS) {
      throw wrong("there are over " + MAX_SELECTORS + " selectors");
    }
    return selectors;
  }

  private static String key(String key, List<String> warnings) throws RefusedException {
    boolean atLeast = key.endsWith(">");
    String property = atLeast ? key.substring(0, key.length() - 1).strip() : key;
    if (PROPERTIES.contains(property) || property.startsWith(LABEL)) {
      return atLeast ? property + ">" : property;
    }
    if (atLeast || !LABEL_NAME.matcher(property).matches()) {
      throw wrong("there is no selector '" + Shapes.shortened(key) + "'");
    }
    warnings.add(
        Names.SELECT
            + ": '"
            + Shapes.shortened(property)
            + "' is taken as a label of GPUs; write label."
            + Shapes.shortened(property));
    return LABEL + property;
  }

  private static void check(String key, String value) throws RefusedException {
    String shown = "'" + Shapes.shortened(key + "=" + value) + "'";
    if (key.equals(LABEL) || value.isEmpty()) {
      throw wrong(shown + " lacks a name or a value");
    }
    if (key.length() > MAX_LENGTH
        || value.length() > MAX_LENGTH
        || !PRINTABLE.matcher(key + value).matches()) {
      throw wrong(
          shown + " has over " + MAX_LENGTH + " characters, or some that cannot be printed");
    }
    if (key.endsWith(">")) {
      boolean version = VERSIONS.contains(key.substring(0, key.length() - 1));
      if (!version || !VERSION.matcher(value).matches()) {
        throw wrong(shown + " compares no version");
      }
    }
  }

  private static RefusedException wrong(String what) {
    return RefusedException.wrong("Annotation " + Names.SELECT + ": " + what + HOW);
  }
}
