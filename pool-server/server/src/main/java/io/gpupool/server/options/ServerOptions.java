// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.limits.ServerLimits;
import io.gpupool.server.oidc.KubernetesOptions;
import io.gpupool.server.oidc.OidcOptions;
import io.gpupool.server.state.etcd.EtcdOptions;
import io.gpupool.server.worker.WorkerCommand;
import io.gpupool.transport.tls.TlsFiles;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The options with which a pool server is started.
 *
 * @param gpus which GPUs it serves
 * @param listen the address of both ports
 * @param controlPort gRPC; 0 takes a free one
 * @param dataPort call streams; 0 takes a free one
 * @param state where the pool remembers what lasts; empty: nowhere, it is forgotten at the end
 * @param etcd where a pool of several servers remembers it, instead of in a folder
 * @param history where this server keeps what its GPUs were used for; empty: beside its state
 * @param tls what all ports speak TLS with; none: they do not
 * @param peerRoots where the certificates of the pool's other servers come from; empty: from those
 *     roots of which certificates are asked of clients, else from those that the machine trusts
 * @param clearCallStreams whether call streams begin in clear text although the rest speaks TLS
 * @param auth how callers prove who they are; empty: on loopback not at all, else by tokens
 * @param oidc whose tokens are as good as the pool's
 * @param kubernetes whose pods use their own leases
 * @param name under which it lists itself; empty makes one of host and control port
 * @param host by which clients and other servers reach it; empty: the machine's name
 * @param labels what its operator says of its GPUs, for requests to select by
 * @param driver NVIDIA's driver, where its GPUs are served
 * @param spares how many workers are warmed up at the start
 * @param refill whether spares that were taken are replaced
 * @param softMissingPtx what the software GPU does with a kernel that has no PTX
 * @param limits what one tenant can take of the server
 * @param worker how workers are started
 */
public record ServerOptions(
    GpuSpec gpus,
    InetAddress listen,
    int controlPort,
    int dataPort,
    Optional<Path> state,
    Optional<EtcdOptions> etcd,
    Optional<Path> history,
    TlsFiles tls,
    Optional<Path> peerRoots,
    boolean clearCallStreams,
    Optional<Auth> auth,
    Optional<OidcOptions> oidc,
    Optional<KubernetesOptions> kubernetes,
    Optional<String> name,
    Optional<String> host,
    Map<String, String> labels,
    DriverOptions driver,
    int spares,
    boolean refill,
    MissingPtx softMissingPtx,
    ServerLimits limits,
    WorkerCommand worker) {
  public static final int CONTROL_PORT = 7642;
  public static final int DATA_PORT = 7641;
  private static final int MAX_SPARES = 64;
  private static final Pattern LABEL = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._/-]{0,62}");

  /** What becomes of a launch on the software GPU when the image has no PTX. */
  public enum MissingPtx {
    fail,
    skip
  }

  /** How callers prove who they are. */
  public enum Auth {
    tokens,
    /** Any caller may do anything. */
    none
  }

  public ServerOptions {
    checkPort(controlPort);
    checkPort(dataPort);
    auth = Optional.of(auth.orElse(listen.isLoopbackAddress() ? Auth.none : Auth.tokens));
    checkState(listen, auth.get() == Auth.tokens, state.isPresent() || etcd.isPresent());
    labels = Map.copyOf(labels);
    labels.forEach(ServerOptions::checkLabel);
    if (oidc.isPresent() && auth.get() == Auth.none) {
      throw new IllegalArgumentException(
          "--oidc-issuer needs callers to prove who they are: give --auth tokens");
    }
    if (kubernetes.isPresent() && auth.get() == Auth.none) {
      throw new IllegalArgumentException(
          "--kubernetes needs callers to prove who they are: give --auth tokens");
    }
    if (tls.trusted().isPresent() && tls.certificate().isEmpty()) {
      throw new IllegalArgumentException(
          "--tls-client-ca asks clients for certificates over TLS: give --tls-cert and --tls-key");
    }
    if (peerRoots.isPresent() && tls.certificate().isEmpty()) {
      throw new IllegalArgumentException(
          "--tls-peer-ca is for servers that speak TLS: give --tls-cert and --tls-key");
    }
    if (clearCallStreams && tls.certificate().isEmpty()) {
      throw new IllegalArgumentException(
          "--clear-call-streams is for servers that speak TLS: give --tls-cert and --tls-key");
    }
    if (spares < 0 || spares > MAX_SPARES) {
      throw new IllegalArgumentException("--spares " + spares + ": give 0 to " + MAX_SPARES);
    }
  }

  public boolean needsTokens() {
    return auth.equals(Optional.of(Auth.tokens));
  }

  /** What connections to the pool's other servers speak TLS with; none: they do not. */
  public TlsFiles peerTls() {
    return new TlsFiles(tls.certificate(), tls.key(), peerRoots.or(tls::trusted));
  }

  /** Where it keeps what its GPUs were used for; empty: nowhere, it is forgotten at the end. */
  public Optional<Path> historyFolder() {
    return history.or(() -> state);
  }

  /** Where a token is left for the first admin. */
  public Path adminFolder() {
    Path usual = Path.of("/var/lib/gpupool");
    return state.orElseGet(() ->
        Files.isWritable(Files.exists(usual) ? usual : usual.getParent()) ? usual : Path.of(""));
  }

  /**
   * Whether this is a mode to try things out in: whoever can connect may do anything, unless it has
   * to show a certificate.
   */
  public boolean isDevelopment() {
    return !needsTokens() && tls.trusted().isEmpty();
  }

  /** The options that select a worker's backend. */
  public List<String> backendArguments(GpuSpec served) {
    List<String> arguments = new ArrayList<>(List.of("--gpus", served.text()));
    arguments.addAll(driver.arguments());
    arguments.add("--soft-missing-ptx=" + softMissingPtx);
    return arguments;
  }

  private static void checkLabel(String key, String value) {
    if (!LABEL.matcher(key).matches() || !LABEL.matcher(value).matches()) {
      throw new IllegalArgumentException(
          "--label " + key + "=" + value + ": give letters, digits, - _ . and /, at most 63 each");
    }
  }

  private static void checkState(InetAddress listen, boolean tokens, boolean remembers) {
    if (tokens && !remembers) {
      throw new IllegalArgumentException(
          "tokens need a folder or an etcd that remembers them: give --state DIR"
              + (listen.isLoopbackAddress()
                  ? ""
                  : ", or --auth none on a network that you trust, or --listen 127.0.0.1"));
    }
  }

  /** Refuses what is no port; 0 is one, which takes a free one. */
  public static void checkPort(int port) {
    if (port < 0 || port > 65535) {
      throw new IllegalArgumentException("port " + port + " is not one; give 0 to 65535");
    }
  }
}
