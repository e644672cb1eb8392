// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.server.options.TlsOptions;
import io.gpupool.transport.tls.TlsFiles;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a server's TLS. */
final class TlsServerOptions {
  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description = {
        "TLS on all ports with this certificate, PEM, followed by those that lead to its root;"
            + " read",
        "again when it is replaced (default: no TLS)"
      })
  private @Nullable Path certificate;

  @Option(names = "--tls-key", paramLabel = "FILE", description = "its private key, PEM, PKCS#8")
  private @Nullable Path key;

  @Option(
      names = "--tls-client-ca",
      paramLabel = "FILE",
      description = "only clients with a certificate that comes from one of these roots are let in")
  private @Nullable Path clientRoots;

  @Option(
      names = "--tls-peer-ca",
      paramLabel = "FILE",
      description = {
        "roots of the certificates of the pool's other servers, to which this one connects for",
        "programs with GPUs of several (default: those of --tls-client-ca, else this machine's)"
      })
  private @Nullable Path peerRoots;

  @Option(
      names = "--clear-call-streams",
      description = {
        "call streams in clear text although the rest speaks TLS: programs then talk to their"
            + " workers",
        "themselves, which is faster, over a network that nobody can read"
      })
  private boolean clearCallStreams;

  @Option(
      names = "--relay-call-streams",
      description = {
        "call streams within TLS from end to end, relayed by agent and server, for a network in",
        "which every connection has to be TLS (default: programs and workers seal them)"
      })
  private boolean relayCallStreams;

  TlsOptions options() {
    return new TlsOptions(
        new TlsFiles(certificate, key, clientRoots), peerRoots, clearCallStreams, relayCallStreams);
  }
}
