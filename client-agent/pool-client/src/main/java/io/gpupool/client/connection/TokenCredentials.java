// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import io.grpc.CallCredentials;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.SecurityLevel;
import io.grpc.Status;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * Call credentials that show a token to the pool where nobody on the way can read it: over TLS, or
 * on this machine. On another connection the call fails, unless that was agreed to.
 */
public final class TokenCredentials extends CallCredentials {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final Supplier<String> token;
  private final boolean alsoInTheClear;

  /** Uses one token for good; throws {@link IllegalArgumentException} if it cannot be one. */
  TokenCredentials(String token, boolean alsoInTheClear) {
    this(new TokenText(token), alsoInTheClear);
  }

  /**
   * Uses a token that may change between calls.
   *
   * @param token asked on any thread, and soon to answer; what it throws fails the call
   */
  public TokenCredentials(Supplier<String> token, boolean alsoInTheClear) {
    this.token = token;
    this.alsoInTheClear = alsoInTheClear;
  }

  static Metadata headers(String token) {
    if (token.isEmpty() || !token.chars().allMatch(c -> c > 32 && c < 127)) {
      throw new IllegalArgumentException("the token holds characters that no token has");
    }
    Metadata headers = new Metadata();
    headers.put(AUTHORIZATION, "Bearer " + token);
    return headers;
  }

  @Override
  public void applyRequestMetadata(RequestInfo call, Executor executor, MetadataApplier applier) {
    if (alsoInTheClear || isPrivate(call)) {
      Metadata headers;
      try {
        headers = headers(token.get());
      } catch (IllegalArgumentException | UncheckedIOException e) {
        applier.fail(Status.UNAUTHENTICATED.withDescription(e.getMessage()));
        return;
      }
      applier.apply(headers);
    } else {
      applier.fail(
          Status.UNAUTHENTICATED.withDescription(
              "the token was not sent, because anyone on the way could read it: name the pool as"
                  + " tls://HOST, or agree with --insecure (GPUPOOL_INSECURE=1)"));
    }
  }

  private static boolean isPrivate(RequestInfo call) {
    return call.getSecurityLevel() == SecurityLevel.PRIVACY_AND_INTEGRITY
        || (call.getTransportAttrs().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR)
                instanceof InetSocketAddress peer
            && peer.getAddress().isLoopbackAddress());
  }
}
