// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsFiles;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The protection of a client's connections to pools: TLS where an address is {@code tls://}, and
 * everywhere once it was given files for it. Reads the files with the first connection that needs
 * them. For any thread.
 */
public final class ClientSecurity {
  /** TLS only where the address says so, with the roots that the machine trusts. */
  public static final ClientSecurity DEFAULT = new ClientSecurity(TlsFiles.NONE, false, false);

  private final TlsFiles files;
  private final boolean clearTokens;
  private final boolean follow;
  private final boolean everywhere;

  @GuardedBy("this")
  private @Nullable TlsContext context;

  /**
   * Reads nothing yet.
   *
   * @param clearTokens whether tokens may cross a network without TLS
   * @param follow whether files that are replaced are read again, as long as the process lives
   */
  public ClientSecurity(TlsFiles files, boolean clearTokens, boolean follow) {
    this(files, clearTokens, follow, !files.areNone());
  }

  private ClientSecurity(TlsFiles files, boolean clearTokens, boolean follow, boolean everywhere) {
    this.files = files;
    this.clearTokens = clearTokens;
    this.follow = follow;
    this.everywhere = everywhere;
  }

  /** Returns the security for servers that must not see this client's certificate. */
  public ClientSecurity withoutCertificate() {
    TlsFiles rootsAlone = TlsFiles.trusting(files.trusted());
    return new ClientSecurity(rootsAlone, clearTokens, follow, everywhere);
  }

  public boolean clearTokens() {
    return clearTokens;
  }

  /** Returns the address, with TLS if it holds for it here. */
  public PoolAddress secured(PoolAddress address) {
    return everywhere ? address.overTls() : address;
  }

  /**
   * Returns the TLS of connections to this address; empty: they are in clear text.
   *
   * @throws IllegalArgumentException if the files cannot be used; the message is for people
   */
  public synchronized Optional<TlsContext> tlsFor(PoolAddress address) {
    if (!secured(address).tls()) {
      return Optional.empty();
    }
    if (context == null) {
      try {
        context = follow ? TlsContext.following(files) : TlsContext.of(files);
      } catch (IOException e) {
        throw new IllegalArgumentException(e.getMessage(), e);
      }
    }
    return Optional.of(context);
  }
}
