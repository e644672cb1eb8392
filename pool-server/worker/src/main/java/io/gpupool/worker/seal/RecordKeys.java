// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The keys of one direction of a connection, and its place in it. Used by one thread at a time.
 *
 * <pre>
 *   secret -- "gpupool program" or "gpupool worker" --> traffic secret -- "key", "iv" --> key, iv
 *                                                            | "traffic upd", after RECORDS_PER_KEY
 *                                                            v
 *                                                       next traffic secret -- ...
 * </pre>
 */
final class RecordKeys {
  static final int SECRET_BYTES = 32;
  static final int TAG_BYTES = 16;

  /** AES-GCM bears 2^24.5 records under one key (RFC 8446, 5.5). */
  static final long RECORDS_PER_KEY = 1L << 22;

  private static final int KEY_BYTES = 16;
  private static final int IV_BYTES = 12;
  private static final String MAC = "HmacSHA256";

  /** The end that seals the records of a direction. */
  enum End {
    PROGRAM("gpupool program"),
    WORKER("gpupool worker");

    private final String label;

    End(String label) {
      this.label = label;
    }
  }

  private final Cipher cipher;
  private final int mode;
  private final long recordsPerKey;
  private byte[] traffic;
  private byte[] iv;
  private SecretKeySpec key;
  private long sequence;

  /**
   * Begins a direction.
   *
   * @param mode {@link Cipher#ENCRYPT_MODE} or {@link Cipher#DECRYPT_MODE}
   */
  RecordKeys(byte[] secret, End end, int mode, long recordsPerKey) {
    this.mode = mode;
    this.recordsPerKey = recordsPerKey;
    try {
      cipher = Cipher.getInstance("AES/GCM/NoPadding");
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this JDK has no AES-GCM", e);
    }
    traffic = expand(secret, end.label, SECRET_BYTES);
    iv = expand(traffic, "iv", IV_BYTES);
    key = key();
  }

  /** Begins a direction whose records are sealed here. */
  static RecordKeys sealing(byte[] secret, End end) {
    return new RecordKeys(secret, end, Cipher.ENCRYPT_MODE, RECORDS_PER_KEY);
  }

  /** Begins a direction whose records are opened here. */
  static RecordKeys opening(byte[] secret, End end) {
    return new RecordKeys(secret, end, Cipher.DECRYPT_MODE, RECORDS_PER_KEY);
  }

  private SecretKeySpec key() {
    return new SecretKeySpec(expand(traffic, "key", KEY_BYTES), "AES");
  }

  /** Returns the cipher for the next record, which has seen its header. */
  Cipher next(byte[] header, int headerBytes) throws GeneralSecurityException {
    if (sequence == recordsPerKey) {
      traffic = expand(traffic, "traffic upd", SECRET_BYTES);
      iv = expand(traffic, "iv", IV_BYTES);
      key = key();
      sequence = 0;
    }
    byte[] nonce = iv.clone();
    for (int i = 0; i < Long.BYTES; i++) {
      nonce[IV_BYTES - 1 - i] ^= (byte) (sequence >>> 8 * i);
    }
    sequence++;
    cipher.init(mode, key, new GCMParameterSpec(8 * TAG_BYTES, nonce));
    cipher.updateAAD(header, 0, headerBytes);
    return cipher;
  }

  /** HKDF-Expand-Label of RFC 8446, 7.1, without a context; at most as long as the digest. */
  static byte[] expand(byte[] secret, String label, int lengthBytes) {
    byte[] full = ("tls13 " + label).getBytes(StandardCharsets.US_ASCII);
    try {
      Mac mac = Mac.getInstance(MAC);
      mac.init(new SecretKeySpec(secret, MAC));
      mac.update((byte) 0);
      mac.update((byte) lengthBytes);
      mac.update((byte) full.length);
      mac.update(full);
      // No context; the first block of HKDF-Expand.
      mac.update((byte) 0);
      mac.update((byte) 1);
      return Arrays.copyOf(mac.doFinal(), lengthBytes);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this JDK has no " + MAC, e);
    }
  }
}
