// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Compiles C programs with gcc, into the build's folder, when they are older than their source. */
final class CPrograms {
  private static final Path OUT = Distribution.WORK.resolve("c");
  private static final Path DRIVER_API = Distribution.EXAMPLES.resolve("driver-api");
  private static final Path FIXTURES = Distribution.DEPLOY.resolve("src/test/c");

  private CPrograms() {}

  /** A program of the driver API's examples, which looks libcuda up when it starts. */
  static Path example(String name) {
    return compile(DRIVER_API.resolve(name + ".c"), name, List.of());
  }

  /** The same, linked to the shim by name, so that the loader needs to find it. */
  static Path linkedExample(String name) {
    return compile(
        DRIVER_API.resolve(name + ".c"),
        name + "-linked",
        List.of("-DDRIVER_LINKED", "-L" + Distribution.SHIM, "-l:libcuda.so.1"));
  }

  /** A program of NCCL's examples. */
  static Path ncclExample(String name) {
    return compileForNccl(Distribution.NCCL_EXAMPLES.resolve(name + ".c"), name);
  }

  /** A program of the tests' own. */
  static Path fixture(String name) {
    return compile(FIXTURES.resolve(name + ".c"), name, List.of());
  }

  /** A program of the tests' own that calls NCCL. */
  static Path ncclFixture(String name) {
    return compileForNccl(FIXTURES.resolve(name + ".c"), name);
  }

  /** The same, compiled with options, under a name that is the fixture's and the variant's. */
  static Path fixture(String name, String variant, String... options) {
    return compile(FIXTURES.resolve(name + ".c"), name + "-" + variant, List.of(options));
  }

  /** A shared library of all C files in a folder. */
  static Path library(Path folder, String name) {
    List<String> options = List.of("-shared", "-fPIC", "-Wno-int-to-pointer-cast");
    try (Stream<Path> files = Files.list(folder)) {
      return compile(files.sorted().toList(), name + ".so", options);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The stand-in for NVIDIA's libnccl.so.2. */
  static Path ncclStandIn() {
    Path source = FIXTURES.resolve("nccl_stand_in.c");
    return compileForNccl(source, "libnccl-stand-in.so.2", "-shared", "-fPIC");
  }

  private static Path compileForNccl(Path source, String name, String... more) {
    List<Path> files = new ArrayList<>(List.of(source, DRIVER_API.resolve("driver.h")));
    for (String header : List.of("nccl_api.h", "numbers.h", "ranks.h")) {
      files.add(Distribution.NCCL_EXAMPLES.resolve(header));
    }
    List<String> options = new ArrayList<>(List.of(more));
    options.addAll(List.of("-ffp-contract=off", "-Wno-conversion", "-lm"));
    return compile(files, name, options);
  }

  private static Path compile(Path source, String name, List<String> options) {
    return compile(List.of(source, DRIVER_API.resolve("driver.h")), name, options);
  }

  private static synchronized Path compile(List<Path> files, String name, List<String> options) {
    Path program = OUT.resolve(name);
    try {
      Files.createDirectories(OUT);
      if (isOlder(program, files)) {
        List<String> command = new ArrayList<>();
        command.addAll(List.of("gcc", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Wconversion"));
        command.addAll(List.of("-Werror", "-o", program.toString()));
        files.stream().map(Path::toString).filter(f -> f.endsWith(".c")).forEach(command::add);
        command.addAll(options);
        command.addAll(List.of("-ldl", "-lpthread"));
        Program.Ended ended = Program.of(command).run();
        assertThat(ended.status()).as(ended.errors()).isZero();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return program;
  }

  private static boolean isOlder(Path file, List<Path> than) throws IOException {
    if (!Files.exists(file)) {
      return true;
    }
    for (Path other : than) {
      if (Files.getLastModifiedTime(file).compareTo(Files.getLastModifiedTime(other)) < 0) {
        return true;
      }
    }
    return false;
  }
}
