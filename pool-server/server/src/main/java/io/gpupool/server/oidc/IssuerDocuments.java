// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsFiles;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.HttpsURLConnection;

/** Fetches what an issuer publishes; blocks for some seconds at most. For any thread. */
final class IssuerDocuments {
  private static final String CONFIGURATION = "/.well-known/openid-configuration";
  private static final int WAIT_MILLIS = 5000;
  private static final int MAX_BYTES = 512 * 1024;

  private final URI issuer;
  private final Optional<Path> trusted;

  IssuerDocuments(URI issuer, Optional<Path> trusted) {
    this.issuer = issuer;
    this.trusted = trusted;
  }

  /**
   * The keys by which it signs now, as far as they can be used here.
   *
   * @throws IOException if they cannot be had; the message is for people
   */
  List<IssuerKey> keys() throws IOException {
    String base = issuer.toString().replaceFirst("/$", "");
    Claims configuration = fetch(URI.create(base + CONFIGURATION));
    String named = configuration.text("issuer").orElse("");
    if (!named.equals(issuer.toString())) {
      throw new IOException(
          "what is at " + base + CONFIGURATION + " is of another issuer: " + Jwt.plain(named));
    }
    URI keys = URI.create(configuration.text("jwks_uri").orElse(""));
    if (!OidcOptions.isSafe(keys)
        || (issuer.getScheme().equals("https") && !keys.getScheme().equals("https"))) {
      throw new IOException("its keys are not at an https:// address: " + keys);
    }
    List<IssuerKey> usable =
        fetch(keys).objects("keys").stream().map(IssuerKey::of).flatMap(Optional::stream).toList();
    if (usable.isEmpty()) {
      throw new IOException(keys + " has no key for signatures that can be used here");
    }
    return usable;
  }

  private Claims fetch(URI address) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) address.toURL().openConnection();
    if (connection instanceof HttpsURLConnection secure) {
      TlsFiles files = new TlsFiles(Optional.empty(), Optional.empty(), trusted);
      secure.setSSLSocketFactory(TlsContext.of(files).context().getSocketFactory());
    }
    connection.setInstanceFollowRedirects(false);
    connection.setConnectTimeout(WAIT_MILLIS);
    connection.setReadTimeout(WAIT_MILLIS);
    connection.setRequestProperty("Accept", "application/json");
    try {
      if (connection.getResponseCode() != HttpURLConnection.HTTP_OK) {
        throw new IOException(address + " answers with status " + connection.getResponseCode());
      }
      byte[] bytes;
      try (InputStream body = connection.getInputStream()) {
        bytes = body.readNBytes(MAX_BYTES + 1);
      }
      if (bytes.length > MAX_BYTES) {
        throw new IOException(address + " answers with over " + MAX_BYTES + " bytes");
      }
      return Claims.parse(new String(bytes, StandardCharsets.UTF_8))
          .orElseThrow(() -> new IOException(address + " answers with something else than JSON"));
    } finally {
      connection.disconnect();
    }
  }
}
