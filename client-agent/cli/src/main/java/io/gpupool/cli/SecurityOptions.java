// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.transport.tls.TlsFiles;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a command's TLS and token. */
public final class SecurityOptions {
  @Option(
      names = "--tls-ca",
      paramLabel = "FILE",
      description = {
        "speak TLS with a pool whose certificate comes from one of these roots (else",
        "GPUPOOL_TLS_CA; with tls:// alone, from those that this machine trusts)"
      })
  private @Nullable Path trusted;

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description = "the certificate to show, for a pool that asks (else GPUPOOL_TLS_CERT)")
  private @Nullable Path certificate;

  @Option(
      names = "--tls-key",
      paramLabel = "FILE",
      description = "its private key (else GPUPOOL_TLS_KEY)")
  private @Nullable Path key;

  @Option(
      names = "--insecure",
      description = "send the token over networks without TLS, too (else GPUPOOL_INSECURE=1)")
  private boolean insecure;

  /** Returns the security of a command that ends soon. */
  public ClientSecurity once() {
    return security(false);
  }

  /** Returns the security of a process that may outlive its certificates. */
  public ClientSecurity following() {
    return security(true);
  }

  /** Returns the environment variables that give a command started by this one the same. */
  public Map<String, String> variables() {
    Map<String, String> variables = new TreeMap<>();
    put(variables, "GPUPOOL_TLS_CERT", certificate);
    put(variables, "GPUPOOL_TLS_KEY", key);
    put(variables, "GPUPOOL_TLS_CA", trusted);
    if (insecure) {
      variables.put("GPUPOOL_INSECURE", "1");
    }
    return variables;
  }

  private static void put(Map<String, String> variables, String name, @Nullable Path given) {
    if (given != null) {
      variables.put(name, given.toString());
    }
  }

  private ClientSecurity security(boolean follow) {
    TlsFiles files =
        new TlsFiles(
            file(certificate, "GPUPOOL_TLS_CERT"),
            file(key, "GPUPOOL_TLS_KEY"),
            file(trusted, "GPUPOOL_TLS_CA"));
    boolean clear =
        insecure || Environment.variable("GPUPOOL_INSECURE").filter("1"::equals).isPresent();
    return new ClientSecurity(files, clear, follow);
  }

  private static @Nullable Path file(@Nullable Path given, String variable) {
    return given != null ? given : Environment.variable(variable).map(Path::of).orElse(null);
  }
}
