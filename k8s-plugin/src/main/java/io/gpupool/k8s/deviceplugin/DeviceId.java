// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The device IDs for the kubelet: gpupool-0, gpupool-1 and so on. */
final class DeviceId {
  private static final String PREFIX = "gpupool-";
  private static final Pattern FORM = Pattern.compile(PREFIX + "(0|[1-9][0-9]{0,8})");

  private DeviceId() {}

  static String of(int number) {
    return PREFIX + number;
  }

  /** Returns the number of a device; empty if there is no device of this ID. */
  static OptionalInt number(String id) {
    Matcher matcher = FORM.matcher(id);
    return matcher.matches()
        ? OptionalInt.of(Integer.parseInt(matcher.group(1)))
        : OptionalInt.empty();
  }
}
