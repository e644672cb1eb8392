// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsFiles;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.HttpsURLConnection;
import org.jose4j.jwk.JsonWebKey;
import org.jspecify.annotations.Nullable;

/**
 * A fetcher of JSON objects of bounded size. It blocks for some seconds at most. For any thread.
 *
 * @param trusted the roots of the server's certificate; null: those of this machine
 * @param token a file with the token to show, read each time; null: none
 */
record JsonFetcher(@Nullable Path trusted, @Nullable Path token) {
  private static final int WAIT_MILLIS = 5000;
  private static final int MAX_BYTES = 512 * 1024;

  /** Kubernetes gives its keys out by the second name alone. */
  private static final String JSON_AND_KEYS = "application/json, application/jwk-set+json";

  Claims fetch(URI address) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) address.toURL().openConnection();
    if (connection instanceof HttpsURLConnection secure) {
      TlsFiles files = TlsFiles.trusting(trusted);
      secure.setSSLSocketFactory(TlsContext.of(files).context().getSocketFactory());
    }
    connection.setInstanceFollowRedirects(false);
    connection.setConnectTimeout(WAIT_MILLIS);
    connection.setReadTimeout(WAIT_MILLIS);
    connection.setRequestProperty("Accept", JSON_AND_KEYS);
    if (token != null) {
      connection.setRequestProperty("Authorization", "Bearer " + Files.readString(token).strip());
    }
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

  /** The keys at an address that can be used here; at least one. */
  List<JsonWebKey> keys(URI address) throws IOException {
    List<JsonWebKey> usable =
        fetch(address).objects("keys").stream()
            .map(PublishedKeys::read)
            .flatMap(Optional::stream)
            .toList();
    if (usable.isEmpty()) {
      throw new IOException(address + " has no key for signatures that can be used here");
    }
    return usable;
  }
}
