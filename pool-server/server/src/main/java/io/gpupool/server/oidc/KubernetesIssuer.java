// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import io.gpupool.server.identity.FederatedIdentity;
import java.util.List;
import java.util.Optional;
import org.jose4j.jwk.JsonWebKey;

/**
 * A Kubernetes cluster, whose service accounts' tokens name the pod that they were made for. The
 * cluster's own name comes with its keys.
 */
final class KubernetesIssuer implements Issuer {
  private static final String CLAIM = "kubernetes.io";
  private static final String ACCOUNT = "system:serviceaccount:";

  private final KubernetesOptions options;
  private final IssuerKeys keys;

  KubernetesIssuer(KubernetesOptions options, IssuerKeys keys) {
    this.options = options;
    this.keys = keys;
  }

  @Override
  public boolean mayHaveIssued(Claims claims) {
    return claims.object(CLAIM).isPresent();
  }

  @Override
  public String audience() {
    return options.audience();
  }

  @Override
  public JsonWebKey key(Jwt token) throws TokenRejectedException {
    JsonWebKey key = keys.find(token);
    String named = token.claims().text("iss").orElse("");
    if (!keys.issuer().equals(named)) {
      throw new TokenRejectedException(
          "it comes from another issuer than the cluster, " + Jwt.plain(keys.issuer()));
    }
    return key;
  }

  @Override
  public FederatedIdentity identity(Claims claims, long validUntilMillis)
      throws TokenRejectedException {
    String subject = claims.text("sub").orElse("");
    if (!subject.startsWith(ACCOUNT)) {
      throw new TokenRejectedException("it is of no service account (sub)");
    }
    String account = subject.substring(ACCOUNT.length()).replace(':', '/');
    if (options.admins().contains(account)) {
      return new FederatedIdentity(subject, "", List.of("admin"), validUntilMillis);
    }
    if (options.readers().contains(account)) {
      // Of a token that is bound to a pod, the cluster says on which node that is.
      Optional<String> node =
          nested(claims, "node").flatMap(of -> of.text("name")).filter(name -> !name.isEmpty());
      return new FederatedIdentity(
          subject, "", List.of("read-only"), "", node.orElse(null), validUntilMillis);
    }
    Optional<String> pod = nested(claims, "pod").flatMap(of -> of.text("uid"));
    return new FederatedIdentity(
        subject,
        "",
        List.of(),
        pod.filter(uid -> !uid.isEmpty())
            .orElseThrow(
                () -> new TokenRejectedException("it is no pod's (kubernetes.io.pod.uid)")),
        null,
        validUntilMillis);
  }

  /** What stands in the claim that clusters add. */
  private static Optional<Claims> nested(Claims claims, String name) {
    return claims.object(CLAIM).flatMap(of -> of.object(name));
  }

  @Override
  public String toString() {
    return "the cluster at " + options.api();
  }
}
