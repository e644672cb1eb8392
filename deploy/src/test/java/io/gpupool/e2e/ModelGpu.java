// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Modelled GPUs that no other test has, behind a server with the nvidia backend. Their files are
 * removed at the end.
 */
final class ModelGpu implements AutoCloseable {
  private static final Path CARDS = Path.of("/dev/shm");
  private static final Path FOLDER = Distribution.HOME.resolve("lib/model");
  private static final Path LIBCUDA = FOLDER.resolve("libcuda.so.1");
  private static final Path LIBNVML = FOLDER.resolve("libnvidia-ml.so.1");
  private static final Pattern USAGE = Pattern.compile("(card|process \\d+) (\\d+).*");

  private static final String VARIABLE = "GPUPOOL_MODEL";

  private final String name;
  private final Map<String, String> environment;
  private final Pool pool;

  private ModelGpu(String name, Map<String, String> environment, Pool pool) {
    this.name = name;
    this.environment = environment;
    this.pool = pool;
  }

  /**
   * Serves them.
   *
   * @param model their options, as docs/reference/model-gpu.md has them, without a name
   * @param options of the server
   */
  static ModelGpu start(String model, String... options) {
    return startIn(Map.of(), model, options);
  }

  /** Serves them with these variables of the environment. */
  static ModelGpu startIn(Map<String, String> variables, String model, String... options) {
    String name = "test-" + UUID.randomUUID();
    Map<String, String> environment = new TreeMap<>(variables);
    environment.put(VARIABLE, model + ",name=" + name);
    List<String> all = new ArrayList<>(List.of("--libcuda", LIBCUDA.toString()));
    all.addAll(List.of(options));
    return new ModelGpu(
        name, environment, Pool.startIn(environment, "all", all.toArray(String[]::new)));
  }

  Pool pool() {
    return pool;
  }

  /**
   * What the card's driver has given out.
   *
   * @param cardBytes of the card, in all
   * @param processBytes to each process that uses it
   */
  record Usage(long cardBytes, List<Long> processBytes) {}

  Usage usage() {
    Program.Ended ended =
        Program.of(List.of(CPrograms.fixture("card_memory").toString(), LIBNVML.toString()))
            .with(VARIABLE, environment.get(VARIABLE))
            .run();
    assertThat(ended.status()).as("%s", ended).isZero();
    List<Long> bytes =
        ended
            .output()
            .lines()
            .map(USAGE::matcher)
            .filter(Matcher::matches)
            .map(line -> Long.parseLong(line.group(2)))
            .toList();
    return new Usage(bytes.getFirst(), bytes.subList(1, bytes.size()));
  }

  @Override
  public void close() {
    pool.close();
    try (DirectoryStream<Path> cards =
        Files.newDirectoryStream(CARDS, "gpupool-model-" + name + "-*")) {
      for (Path card : cards) {
        Files.delete(card);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
