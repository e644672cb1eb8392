// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The program in a process of its own, which {@link #close} kills. */
public final class Child implements AutoCloseable {
  private static final Pattern HEALTH = Pattern.compile("health port (\\d+)");
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Process process;
  private final Path log;

  public Child(Path folder, Map<String, String> environment, String... arguments)
      throws IOException {
    List<String> line =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin/java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
    line.addAll(List.of(arguments));
    log = Files.createTempFile(folder, "child-", ".log");
    ProcessBuilder builder =
        new ProcessBuilder(line).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().putAll(environment);
    process = builder.start();
  }

  public String log() throws IOException {
    return Files.readString(log);
  }

  int healthPort() {
    await("the health port of " + log)
        .atMost(PATIENCE)
        .until(() -> HEALTH.matcher(log()).find() || !process.isAlive());
    try {
      Matcher port = HEALTH.matcher(log());
      assertThat(port.find()).as(log()).isTrue();
      return Integer.parseInt(port.group(1));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  public HttpResponse<String> get(String path) throws IOException, InterruptedException {
    try (HttpClient client = HttpClient.newHttpClient()) {
      return client.send(
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + healthPort() + path)).build(),
          HttpResponse.BodyHandlers.ofString());
    }
  }

  public void awaitReady() throws IOException {
    healthPort();
    await("readiness")
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(100))
        .failFast(() -> assertThat(process.isAlive()).as(log()).isTrue())
        .until(() -> get("/readyz").statusCode() == 200);
  }

  /** As the kubelet ends it; returns the exit status. */
  public int terminate() throws InterruptedException {
    process.destroy();
    assertThat(process.waitFor(30, TimeUnit.SECONDS)).as("it ends").isTrue();
    return process.exitValue();
  }

  public void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
