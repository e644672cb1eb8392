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
import java.util.Optional;

/**
 * The authority that signs the services' certificates, as its Secret holds it. A new root is
 * trusted for a while before it signs, and the old one until it expires, so every certificate in
 * use comes from a root that everyone trusts.
 *
 * @param current the root that signs
 * @param next the root that signs next, and is trusted already
 * @param known since when everyone has known {@code next}
 * @param roots all trusted roots
 */
record Authority(
    Optional<Credential> current,
    Optional<Credential> next,
    Optional<Instant> known,
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
    Optional<Credential> next = credential(data, NEXT_CERTIFICATE, NEXT_KEY);
    return new Authority(
        credential(data, CERTIFICATE, KEY),
        next,
        next.isPresent() ? instant(data.getOrDefault(NEXT_KNOWN, "")) : Optional.empty(),
        certificates(data.getOrDefault(ROOTS, "")));
  }

  /** Returns the data that the Secret is to have. */
  Map<String, String> data() {
    Map<String, String> data = new LinkedHashMap<>();
    current.ifPresent(root -> put(data, root, CERTIFICATE, KEY));
    next.ifPresent(root -> put(data, root, NEXT_CERTIFICATE, NEXT_KEY));
    known.ifPresent(since -> data.put(NEXT_KNOWN, since.toString()));
    data.put(ROOTS, rootsPem());
    return data;
  }

  String rootsPem() {
    return Pem.of(roots);
  }

  /** Adds missing roots and removes expired ones; returns the same if nothing is to be done. */
  Authority renewed(Instant now, Lifetimes lifetimes) {
    Optional<Credential> signing = current.filter(root -> !root.isOver(now));
    Optional<Credential> coming = next.filter(root -> !root.isOver(now));
    if (signing.isEmpty()) {
      // Nothing that it signed is valid any more, so there is nobody to wait for.
      signing = coming.or(() -> Optional.of(Issuer.root(NAME, now, lifetimes.root())));
      coming = Optional.empty();
    } else if (coming.isEmpty() && signing.get().isDue(now)) {
      coming = Optional.of(Issuer.root(NAME, now, lifetimes.root()));
    }
    List<X509Certificate> trusted = new ArrayList<>();
    signing.map(Credential::certificate).ifPresent(trusted::add);
    coming.map(Credential::certificate).ifPresent(trusted::add);
    for (X509Certificate root : roots) {
      if (!trusted.contains(root) && now.isBefore(root.getNotAfter().toInstant())) {
        trusted.add(root);
      }
    }
    boolean same = coming.equals(next);
    return new Authority(
        signing,
        coming,
        same ? known : Optional.empty(),
        trusted.size() == roots.size() && roots.containsAll(trusted) ? roots : trusted);
  }

  /** Records that everyone knows the roots; returns the same if nothing is to be done. */
  Authority told(Instant now, Lifetimes lifetimes) {
    if (next.isEmpty()) {
      return this;
    }
    if (known.isEmpty()) {
      return new Authority(current, next, Optional.of(now), roots);
    }
    boolean longEnough = !now.isBefore(known.get().plus(lifetimes.overlap()));
    return longEnough ? new Authority(next, Optional.empty(), Optional.empty(), roots) : this;
  }

  private static Optional<Credential> credential(
      Map<String, String> data, String certificate, String key) {
    return Credential.parse(
        Optional.ofNullable(data.get(certificate)), Optional.ofNullable(data.get(key)));
  }

  private static void put(
      Map<String, String> data, Credential root, String certificate, String key) {
    data.put(certificate, Pem.of(root.certificate()));
    data.put(key, Pem.of(root.key()));
  }

  private static Optional<Instant> instant(String text) {
    try {
      return Optional.ofNullable(text).map(Instant::parse);
    } catch (DateTimeParseException e) {
      return Optional.empty();
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
