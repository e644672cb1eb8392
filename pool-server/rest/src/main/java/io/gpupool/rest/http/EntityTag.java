// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.http;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The entity tag of an answer. It is weak: answers that differ only in ages have the same tag.
 * Where there is a revision, the tag is strong, and the revision is the part before the dash.
 */
public record EntityTag(String opaque, @Nullable Long revision) {
  private static final int BYTES = 12;

  /** Returns the tag of a resource without its ages. */
  public static EntityTag of(String lasting) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(lasting.getBytes(StandardCharsets.UTF_8));
      return new EntityTag(
          "\"" + HexFormat.of().formatHex(Arrays.copyOf(digest, BYTES)) + "\"", null);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns the same tag with a revision. */
  public EntityTag withRevision(long number) {
    return new EntityTag("\"" + number + "-" + opaque.substring(1), number);
  }

  /** Returns whether an If-None-Match header lists it. */
  public boolean isAmong(List<String> headers) {
    return known(headers).stream().anyMatch(tag -> tag.equals("*") || tag.equals(opaque));
  }

  /**
   * Returns the revision that an If-Match header demands.
   *
   * @return 0: any revision
   */
  public long required(List<String> headers) throws ProblemException {
    if (headers.isEmpty()) {
      throw new ProblemException(
          428,
          "say which state of it you mean: 'If-Match:' with the ETag of its GET, or 'If-Match: *'"
              + " for whatever it is");
    }
    List<String> known = known(headers);
    if (known.contains("*")) {
      return 0;
    }
    long now = Objects.requireNonNull(revision);
    if (known.stream().noneMatch(tag -> tag.startsWith("\"" + now + "-"))) {
      throw new ProblemException(
          412, "it has changed since (its ETag is " + opaque + " now); get it again and look");
    }
    return now;
  }

  /** Proxies that compress weaken tags. */
  private static List<String> known(List<String> headers) {
    return Arrays.stream(String.join(",", headers).split(","))
        .map(String::strip)
        .map(tag -> tag.startsWith("W/") ? tag.substring(2) : tag)
        .toList();
  }

  public Map<String, String> headers() {
    return Map.of(
        "ETag", revision != null ? opaque : "W/" + opaque, "Cache-Control", "private, no-cache");
  }
}
