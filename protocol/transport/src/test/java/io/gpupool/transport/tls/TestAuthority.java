// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A certificate authority for tests, made by {@code openssl} in a folder of its own. */
public final class TestAuthority {
  private final Path folder;
  private final Path root;

  /** A certificate and its key, as PEM files. */
  public record Issued(Path certificate, Path key) {}

  /** Makes one. */
  public TestAuthority(Path folder) {
    this.folder = folder;
    root = folder.resolve("root.pem");
    try {
      Files.createDirectories(folder);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    openssl(
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        "root.key",
        "-out",
        "root.pem",
        "-days",
        "2",
        "-subj",
        "/CN=" + folder.getFileName());
  }

  /** Its certificate. */
  public Path root() {
    return root;
  }

  /** A certificate for these alternative names, such as {@code DNS:localhost}. */
  public Issued issue(String name, String alternatives) {
    try {
      Files.writeString(folder.resolve(name + ".ext"), "subjectAltName=" + alternatives + "\n");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    openssl(
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        name + ".key",
        "-out",
        name + ".csr",
        "-subj",
        "/CN=" + name);
    openssl(
        "x509",
        "-req",
        "-in",
        name + ".csr",
        "-CA",
        "root.pem",
        "-CAkey",
        "root.key",
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        name + ".ext",
        "-out",
        name + ".pem");
    return new Issued(folder.resolve(name + ".pem"), folder.resolve(name + ".key"));
  }

  /** Runs {@code openssl} in its folder. */
  public void openssl(String... arguments) {
    List<String> line = new java.util.ArrayList<>(List.of("openssl"));
    line.addAll(List.of(arguments));
    try {
      Process process =
          new ProcessBuilder(line).directory(folder.toFile()).redirectErrorStream(true).start();
      String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        throw new IllegalStateException(String.join(" ", line) + ": " + said);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("tests of TLS need openssl", e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The files of a server with this certificate. */
  public static TlsFiles server(Issued issued, Optional<Path> clientRoots) {
    return new TlsFiles(issued.certificate(), issued.key(), clientRoots.orElse(null));
  }

  /** The files of a client that shows no certificate. */
  public TlsFiles client() {
    return TlsFiles.trusting(root);
  }
}
