// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import io.gpupool.server.oidc.KubernetesOptions;
import io.gpupool.server.oidc.OidcOptions;
import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/**
 * The authentication of a pool server's callers.
 *
 * @param method the method by which callers authenticate
 * @param oidc the issuer whose tokens are accepted beside the pool's
 * @param kubernetes the cluster whose pods use their own leases
 */
public record AuthOptions(
    Method method, @Nullable OidcOptions oidc, @Nullable KubernetesOptions kubernetes) {
  public static final AuthOptions NONE = new AuthOptions(Method.none);

  /** The methods by which callers authenticate. */
  public enum Method {
    tokens,
    /** Any caller may do anything. */
    none;

    /** Returns the method of servers that name none: no authentication on loopback alone. */
    public static Method defaultAt(InetAddress listen) {
      return listen.isLoopbackAddress() ? none : tokens;
    }
  }

  public AuthOptions {
    if (method == Method.none) {
      require(oidc == null, "--oidc-issuer");
      require(kubernetes == null, "--kubernetes");
    }
  }

  /** Accepts the pool's tokens alone, or no token. */
  public AuthOptions(Method method) {
    this(method, null, null);
  }

  public boolean needsTokens() {
    return method == Method.tokens;
  }

  private static void require(boolean holds, String option) {
    if (!holds) {
      throw new IllegalArgumentException(
          option + " needs callers to prove who they are: give --auth tokens");
    }
  }
}
