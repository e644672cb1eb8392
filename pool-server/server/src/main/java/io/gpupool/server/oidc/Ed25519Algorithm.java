// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import org.jose4j.jwa.AlgorithmFactoryFactory;
import org.jose4j.jws.EdDsaAlgorithm;

/** EdDSA by the name that RFC 9864 gives it for its first curve. */
final class Ed25519Algorithm extends EdDsaAlgorithm {
  static final String NAME = "Ed25519";

  private Ed25519Algorithm() {
    setAlgorithmIdentifier(NAME);
  }

  static void register() {
    AlgorithmFactoryFactory.getInstance()
        .getJwsAlgorithmFactory()
        .registerAlgorithm(new Ed25519Algorithm());
  }
}
