// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The authority that signs the services' certificates, as its Secret holds it. A new root is
 * trusted for a while before it signs, and the old one until it expires, so every certificate in
 * use comes from a root that everyone trusts.
 *
 * @param current the root that signs; null: none yet
 * @param next the root that signs next, and is trusted already; null: none yet
 * @param known since when everyone has known {@code next}; null: not everyone knows it
 * @param roots all trusted roots
 */
record Authority(
    @Nullable Credential current,
    @Nullable Credential next,
    @Nullable Instant known,
    List<X509Certificate> roots) {
  private static final String NAME = "gpupool authority";
  private static final String CERTIFICATE = "tls.crt";
  private static final String KEY = "tls.key";
  private static final String ROOTS = "roots.pem";
  private static final String NEXT_CERTIFICATE = "next.crt";
  private static final String NEXT_KEY = "next.key";
  private static final String NEXT_KNOWN = "next.known-since";

  Authority {
    roots = List.copyOf(roots);
  }

  /** Reads the Secret's data, any of which may be missing. */
  static Authority read(Map<String, String> data) {
    Credential next = credential(data, NEXT_CERTIFICATE, NEXT_KEY);
    return new Authority(
        credential(data, CERTIFICATE, KEY),
        next,
        next == null ? null : instant(data.getOrDefault(NEXT_KNOWN, "")),
        certificates(data.getOrDefault(ROOTS, "")));
  }

  /** Returns the data that the Secret is to have. */
  Map<String, String> data() {
    Map<String, String> data = new LinkedHashMap<>();
    if (current != null) {
      put(data, current, CERTIFICATE, KEY);
    }
    if (next != null) {
      put(data, next, NEXT_CERTIFICATE, NEXT_KEY);
    }
    if (known != null) {
      data.put(NEXT_KNOWN, known.toString());
    }
    data.put(ROOTS, rootsPem());
    return data;
  }

  String rootsPem() {
    return Pem.of(roots);
  }

  /** Adds missing roots and removes expired ones; returns the same if nothing is to be done. */
  Authority renewed(Instant now, Lifetimes lifetimes) {
    Credential signing = current == null || current.isOver(now) ? null : current;
    Credential coming = next == null || next.isOver(now) ? null : next;
    if (signing == null) {
      // Nothing that it signed is valid any more, so there is nobody to wait for.
      signing = coming == null ? Issuer.root(NAME, now, lifetimes.root()) : coming;
      coming = null;
    } else if (coming == null && signing.isDue(now)) {
      coming = Issuer.root(NAME, now, lifetimes.root());
    }
    List<X509Certificate> trusted = new ArrayList<>();
    trusted.add(signing.certificate());
    if (coming != null) {
      trusted.add(coming.certificate());
    }
    for (X509Certificate root : roots) {
      if (!trusted.contains(root) && now.isBefore(root.getNotAfter().toInstant())) {
        trusted.add(root);
      }
    }
    boolean same = Objects.equals(coming, next);
    return new Authority(
        signing,
        coming,
        same ? known : null,
        trusted.size() == roots.size() && roots.containsAll(trusted) ? roots : trusted);
  }

  /** Records that everyone knows the roots; returns the same if nothing is to be done. */
  Authority told(Instant now, Lifetimes lifetimes) {
    if (next == null) {
      return this;
    }
    if (known == null) {
      return new Authority(current, next, now, roots);
    }
    boolean longEnough = !now.isBefore(known.plus(lifetimes.overlap()));
    return longEnough ? new Authority(next, null, null, roots) : this;
  }

  private static @Nullable Credential credential(
      Map<String, String> data, String certificate, String key) {
    return Credential.parse(data.get(certificate), data.get(key)).orElse(null);
  }

  private static void put(
      Map<String, String> data, Credential root, String certificate, String key) {
    data.put(certificate, Pem.of(root.certificate()));
    data.put(key, Pem.of(root.key()));
  }

  private static @Nullable Instant instant(String text) {
    try {
      return Instant.parse(text);
    } catch (DateTimeParseException e) {
      return null;
    }
  }

  private static List<X509Certificate> certificates(String text) {
    try {
      return Pem.certificates(text);
    } catch (GeneralSecurityException e) {
      // The signing root is added to the roots in any case.
      return List.of();
    }
  }
}
