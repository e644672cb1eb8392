// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import io.gpupool.server.identity.HolderName;
import io.gpupool.server.rejection.RefusedException;
import java.util.regex.Pattern;

/** The rules for names that people give to things in the pool. */
public final class ResourceNames {
  private static final Pattern FORM = Pattern.compile("[a-z0-9](?:[-a-z0-9._]{0,61}[a-z0-9])?");

  private ResourceNames() {}

  public static String check(String what, String name) throws RefusedException {
    if (!FORM.matcher(name).matches()) {
      throw new RefusedException(
          RefusedException.Why.INVALID,
          "'"
              + HolderName.plain(name)
              + "' is no name for "
              + what
              + ": give up to 63 of a-z, 0-9, '-', '.' and '_', the first and the last a letter or"
              + " digit");
    }
    return name;
  }
}
