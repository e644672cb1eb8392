// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The files of an image, which are this machine's own, since none can be downloaded everywhere. */
final class ImageRoot {
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final Pattern LIBRARY = Pattern.compile("(?:=> |^\\s*)(/\\S+) \\(");

  private final Path folder;
  private final Path root;

  /** Begins with empty folders that every system has. */
  ImageRoot(Path folder) throws IOException {
    this.folder = folder;
    root = Files.createDirectories(folder.resolve("root"));
    for (String name : List.of("tmp", "proc", "dev", "sys", "etc", "run", "var/run")) {
      Files.createDirectories(root.resolve(name));
    }
  }

  /** Where a file of the image is on this machine. */
  Path at(String path) {
    return root.resolve(path.substring(1));
  }

  void copy(Path from, String to) throws IOException {
    Files.createDirectories(at(to).getParent());
    Files.copy(from.toRealPath(), at(to), StandardCopyOption.REPLACE_EXISTING);
  }

  void write(String path, String text) throws IOException {
    Files.createDirectories(at(path).getParent());
    Files.writeString(at(path), text);
  }

  /** Copies a program that is on the path of this machine, with its libraries. */
  void tool(String name, String to) throws IOException {
    Path place = onPath(name).orElseThrow();
    copy(place, to);
    copyLibraries(place);
  }

  /** Copies a folder to the same place, with the libraries that those in it need. */
  void tree(Path from) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.toList()) {
        Path to = at(file.toString());
        if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
          Files.createDirectories(to);
        } else if (!Files.exists(to, LinkOption.NOFOLLOW_LINKS)) {
          Files.copy(file, to, LinkOption.NOFOLLOW_LINKS);
        }
        if (file.getFileName().toString().endsWith(".so")) {
          copyLibraries(file);
        }
      }
    }
  }

  /** Copies the libraries that a program or library needs. */
  void copyLibraries(Path program) throws IOException {
    for (String line : Shell.run(PATIENCE, "ldd", program).output().lines().toList()) {
      Matcher library = LIBRARY.matcher(line);
      if (library.find()) {
        Path place = Path.of(library.group(1));
        copy(place, place.toString());
        if (place.endsWith("libc.so.6")) {
          // Any system has the C library as a whole.
          for (String part : List.of("libpthread.so.0", "libdl.so.2", "librt.so.1", "libm.so.6")) {
            Path beside = place.resolveSibling(part);
            if (Files.exists(beside)) {
              copy(beside, beside.toString());
            }
          }
        }
      }
    }
  }

  /** Packs the files as Docker saves images. */
  void pack(String name, Path archive) throws IOException {
    Path layer = folder.resolve("layer.tar");
    run("tar", "-C", root, "--owner=0", "--group=0", "-cf", layer, ".");
    Files.writeString(
        folder.resolve("config.json"),
        """
        {"architecture": "amd64", "os": "linux",
         "config": {"Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]},
         "rootfs": {"type": "layers", "diff_ids": ["sha256:%s"]}}
        """
            .formatted(digest(layer)));
    Files.writeString(
        folder.resolve("manifest.json"),
        "[{\"Config\": \"config.json\", \"RepoTags\": [\""
            + name
            + "\"], \"Layers\": [\"layer.tar\"]}]");
    run("tar", "-C", folder, "-cf", archive, "manifest.json", "config.json", "layer.tar");
  }

  private static String digest(Path file) throws IOException {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  static Optional<Path> onPath(String program) {
    return Arrays.stream((System.getenv("PATH") + ":/usr/sbin").split(":"))
        .map(folder -> Path.of(folder, program))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** Runs a command, which has to succeed. */
  static String run(Object... command) {
    Shell.Ended ended = Shell.run(PATIENCE, command);
    assertThat(ended.status()).as("%s: %s", Arrays.toString(command), ended).isZero();
    return ended.output();
  }
}
