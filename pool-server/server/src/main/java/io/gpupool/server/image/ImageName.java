// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.image;

import io.gpupool.server.placement.LeaseId;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The name of the image of a session, which no other image ever has.
 *
 * @param suspension id of the suspension with which it was made
 * @param session id of the session, in hexadecimal digits
 */
public record ImageName(LeaseId lease, String suspension, String session) {
  private static final Pattern FILE = Pattern.compile("(L\\d+)-([0-9a-f]+)-([0-9a-f]+)\\.session");

  /** Reads the name of a file; empty: it is no image. */
  static Optional<ImageName> of(String file) {
    Matcher matcher = FILE.matcher(file);
    return matcher.matches()
        ? Optional.of(
            new ImageName(new LeaseId(matcher.group(1)), matcher.group(2), matcher.group(3)))
        : Optional.empty();
  }

  String file() {
    return lease.text() + "-" + suspension + "-" + session + ".session";
  }

  /** Returns the bytes that tie the content of a file to its name. */
  byte[] bytes() {
    return file().getBytes(StandardCharsets.UTF_8);
  }
}
