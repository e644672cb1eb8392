// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.cache;

import io.gpupool.soft.ptx.module.PtxModule;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.stream.Stream;
import java.util.zip.ZipFile;

/**
 * A digest that differs between builds of this compiler: a kernel calls methods of its own build,
 * so no other build can use it.
 */
final class CompilerDigest {
  /** Made when first needed; at random if the build cannot be told, so that nothing is found. */
  static final byte[] VALUE = compute();

  private CompilerDigest() {}

  private static byte[] compute() {
    MessageDigest digest = PtxModule.sha256();
    digest.update(Runtime.version().toString().getBytes(StandardCharsets.UTF_8));
    try {
      Path source =
          Path.of(CompilerDigest.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      if (Files.isDirectory(source)) {
        addFolder(source, digest);
      } else {
        addArchive(source, digest);
      }
    } catch (IOException | URISyntaxException | RuntimeException e) {
      digest.update(java.util.UUID.randomUUID().toString().getBytes(StandardCharsets.UTF_8));
    }
    return digest.digest();
  }

  /** Of an archive, the checksums that it holds. */
  private static void addArchive(Path archive, MessageDigest digest) throws IOException {
    try (ZipFile zip = new ZipFile(archive.toFile())) {
      ByteBuffer checksums = ByteBuffer.allocate(zip.size() * 2 * Integer.BYTES);
      zip.stream()
          .forEach(
              entry -> checksums.putInt(entry.getName().hashCode()).putInt((int) entry.getCrc()));
      digest.update(checksums.flip());
    }
  }

  private static void addFolder(Path folder, MessageDigest digest) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile).sorted()::iterator) {
        String stamp = file + " " + Files.size(file) + " " + Files.getLastModifiedTime(file);
        digest.update(stamp.getBytes(StandardCharsets.UTF_8));
      }
    }
  }
}
