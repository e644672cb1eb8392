// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.PoolGrpc;
import io.grpc.Attributes;
import io.grpc.CallCredentials;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.SecurityLevel;
import io.grpc.Status;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

  @Test
  void token_renewed_isTheNewOneFromTheNextCallOn() {
    Deque<String> tokens = new ArrayDeque<>(List.of("first", "second"));
    TokenCredentials credentials = new TokenCredentials(tokens::remove, true);
    assertThat(shown(credentials, SecurityLevel.NONE, "192.0.2.1")).isEqualTo("first");
    assertThat(shown(credentials, SecurityLevel.NONE, "192.0.2.1")).isEqualTo("second");
  }

  @Test
  void token_fileGoneOrReplaced_isToldOrRead(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("token");
    TokenCredentials credentials = new TokenCredentials(new TokenFile(file), true);
    assertThat(shown(credentials, SecurityLevel.NONE, "192.0.2.1"))
        .isEqualTo("there is no token file " + file);
    Files.writeString(file, "\n");
    assertThat(shown(credentials, SecurityLevel.NONE, "192.0.2.1")).contains("is empty");
    Files.writeString(file, "late\n");
    assertThat(shown(credentials, SecurityLevel.NONE, "192.0.2.1")).isEqualTo("late");
  }

  private static String shown(SecurityLevel level, String peer, boolean alsoInTheClear) {
    return shown(new TokenCredentials(TOKEN, alsoInTheClear), level, peer);
  }

  /** The token as the pool gets it, or why it does not. */
  private static String shown(TokenCredentials credentials, SecurityLevel level, String peer) {
    StringBuilder result = new StringBuilder();
    credentials.applyRequestMetadata(
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
