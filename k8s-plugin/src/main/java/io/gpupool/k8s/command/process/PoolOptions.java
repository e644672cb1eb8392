// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.process;

import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.TokenFile;
import io.gpupool.transport.tls.TlsFiles;
import io.netty.channel.EventLoopGroup;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options for a pool's address and the credentials for it. */
public final class PoolOptions {
  @Option(
      names = "--pool",
      required = true,
      paramLabel = "[tls://]HOST[:PORT][,...]",
      description = "the pool's servers")
  private String pool = "";

  @Option(
      names = "--tls-ca",
      paramLabel = "FILE",
      description = {
        "speak TLS with a pool whose certificate comes from one of these roots; the file may come",
        "late and is read again when it is replaced"
      })
  private @Nullable Path trusted;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "the token for the pool; read again, since it may be renewed")
  private @Nullable Path token;

  @Option(names = "--insecure", description = "send the token over networks without TLS, too")
  private boolean insecure;

  PoolAddress address() {
    return PoolAddress.parse(pool);
  }

  ClientSecurity security() {
    return new ClientSecurity(TlsFiles.trusting(trusted), insecure, true);
  }

  /** Returns the file of roots. */
  public Optional<Path> trusted() {
    return Optional.ofNullable(trusted);
  }

  /** Returns a factory of connections; it opens none yet. */
  public PoolConnections connections(EventLoopGroup loops) {
    return new PoolConnections(
        address(), token == null ? null : new TokenFile(token), security(), loops);
  }
}
