// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.server.state.etcd.EtcdOptions;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The files by which a server authenticates to etcd. */
final class EtcdFiles {
  @Option(
      names = "--etcd-ca",
      paramLabel = "FILE",
      description = "certificates that etcd's are signed with; given: TLS is spoken")
  private @Nullable Path ca;

  @Option(
      names = "--etcd-cert",
      paramLabel = "FILE",
      description = "the certificate that this server shows to etcd")
  private @Nullable Path cert;

  @Option(names = "--etcd-key", paramLabel = "FILE", description = "its key, in PKCS #8 form")
  private @Nullable Path key;

  @Option(
      names = "--etcd-ttl",
      paramLabel = "SECONDS",
      defaultValue = "" + EtcdOptions.DEFAULT_TTL_SECONDS,
      description = "how long a server counts as alive of which etcd hears nothing (default: 6)")
  private int ttlSeconds = EtcdOptions.DEFAULT_TTL_SECONDS;

  EtcdOptions options(String url) {
    return EtcdOptions.parse(url, ca, cert, key, ttlSeconds);
  }
}
