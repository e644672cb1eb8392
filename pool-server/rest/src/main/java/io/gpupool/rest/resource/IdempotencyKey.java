// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.protobuf.CodedOutputStream;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.rest.http.ProblemException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The key of a lease request, by which a repeated request is recognized.
 *
 * @param id 128 bits that only the caller can know; they become the lease's secret
 * @param body a hash of the request
 */
record IdempotencyKey(String id, String body) {
  private static final Pattern FORM = Pattern.compile("[\\x21-\\x7e]{1,255}");
  private static final int ID_BYTES = 16;
  private static final SecureRandom RANDOM = new SecureRandom();

  /** Returns the same for the same caller, key and body; without a key, one that is unique. */
  static IdempotencyKey of(@Nullable String token, @Nullable String key, LeaseRequest request)
      throws ProblemException {
    byte[] id = new byte[ID_BYTES];
    if (key == null) {
      RANDOM.nextBytes(id);
    } else if (FORM.matcher(key).matches()) {
      id =
          Arrays.copyOf(
              sha256(
                  ("lease\n" + Objects.requireNonNullElse(token, "") + "\n" + key)
                      .getBytes(StandardCharsets.UTF_8)),
              ID_BYTES);
    } else {
      throw new ProblemException(
          400, "an Idempotency-Key has 1 to 255 characters that can be printed, and no blanks");
    }
    return new IdempotencyKey(
        HexFormat.of().formatHex(id), HexFormat.of().formatHex(sha256(bytes(request))));
  }

  /** In one order, so that the same request has the same bytes. */
  private static byte[] bytes(LeaseRequest request) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    out.useDeterministicSerialization();
    try {
      request.writeTo(out);
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
