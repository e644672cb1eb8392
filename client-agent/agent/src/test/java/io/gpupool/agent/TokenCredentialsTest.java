// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.PoolGrpc;
import io.grpc.Attributes;
import io.grpc.CallCredentials;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.SecurityLevel;
import io.grpc.Status;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

class TokenCredentialsTest {
  private static final String TOKEN = "gpupool_secret";

  @Test
  void token_network_isSentOverTlsOnly() {
    assertThat(shown(SecurityLevel.PRIVACY_AND_INTEGRITY, "192.0.2.1", false)).isEqualTo(TOKEN);
    assertThat(shown(SecurityLevel.NONE, "192.0.2.1", false))
        .doesNotContain(TOKEN)
        .contains("tls://HOST")
        .contains("--insecure");
    assertThat(shown(SecurityLevel.NONE, "192.0.2.1", true)).isEqualTo(TOKEN);
  }

  @Test
  void token_thisMachine_isSent() {
    assertThat(shown(SecurityLevel.NONE, "127.0.0.1", false)).isEqualTo(TOKEN);
    assertThat(shown(SecurityLevel.NONE, "::1", false)).isEqualTo(TOKEN);
  }

  /** The token as the pool gets it, or why it does not. */
  private static String shown(SecurityLevel level, String peer, boolean alsoInTheClear) {
    StringBuilder result = new StringBuilder();
    new TokenCredentials(TOKEN, alsoInTheClear)
        .applyRequestMetadata(
            new Call(level, new InetSocketAddress(peer, 7642)),
            Runnable::run,
            new CallCredentials.MetadataApplier() {
              @Override
              public void apply(Metadata headers) {
                result.append(
                    headers
                        .get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER))
                        .replace("Bearer ", ""));
              }

              @Override
              public void fail(Status status) {
                result.append(status.getDescription());
              }
            });
    return result.toString();
  }

  private static final class Call extends CallCredentials.RequestInfo {
    private final SecurityLevel level;
    private final InetSocketAddress peer;

    Call(SecurityLevel level, InetSocketAddress peer) {
      this.level = level;
      this.peer = peer;
    }

    @Override
    public MethodDescriptor<?, ?> getMethodDescriptor() {
      return PoolGrpc.getVersionMethod();
    }

    @Override
    public SecurityLevel getSecurityLevel() {
      return level;
    }

    @Override
    public String getAuthority() {
      return "pool";
    }

    @Override
    public Attributes getTransportAttrs() {
      return Attributes.newBuilder().set(Grpc.TRANSPORT_ATTR_REMOTE_ADDR, peer).build();
    }
  }
}
