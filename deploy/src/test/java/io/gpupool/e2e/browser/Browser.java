// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.browser;

import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** A Chromium of this machine without a window, with a profile of its own. */
public final class Browser implements AutoCloseable {
  private static final List<String> NAMES =
      List.of("chromium", "chromium-browser", "google-chrome", "google-chrome-stable");
  private static final Duration START = Duration.ofSeconds(40);

  private final Process process;
  private final DevTools tools;

  private Browser(Process process, DevTools tools) {
    this.process = process;
    this.tools = tools;
  }

  /** Where one is installed. */
  public static Optional<Path> installed() {
    return NAMES.stream()
        .flatMap(name ->
            Arrays.stream(System.getenv("PATH").split(":")).map(folder -> Path.of(folder, name)))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /**
   * Starts it.
   *
   * @param profile an empty folder
   */
  public static Browser start(Path executable, Path profile) {
    Process process;
    try {
      process =
          new ProcessBuilder(
                  executable.toString(),
                  "--headless",
                  "--no-sandbox",
                  "--disable-gpu",
                  "--disable-quic",
                  "--disable-dev-shm-usage",
                  "--no-first-run",
                  "--disable-background-networking",
                  "--disable-component-update",
                  "--disable-sync",
                  "--hide-scrollbars",
                  "--remote-debugging-port=0",
                  "--user-data-dir=" + profile,
                  "about:blank")
              .redirectErrorStream(true)
              .redirectOutput(profile.resolve("output").toFile())
              .start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    try {
      // It writes there on which port it listens, and under which path.
      Path told = profile.resolve("DevToolsActivePort");
      await()
          .atMost(START)
          .pollInterval(Duration.ofMillis(50))
          .until(() -> Files.exists(told) && Files.readAllLines(told).size() == 2);
      List<String> lines = Files.readAllLines(told);
      return new Browser(
          process, new DevTools(URI.create("ws://127.0.0.1:" + lines.get(0) + lines.get(1))));
    } catch (IOException e) {
      end(process);
      throw new UncheckedIOException(e);
    } catch (RuntimeException e) {
      end(process);
      throw e;
    }
  }

  /** A new tab that shows nothing yet. */
  public Tab tab() {
    JsonObject blank = new JsonObject();
    blank.addProperty("url", "about:blank");
    JsonObject target = tools.call("", "Target.createTarget", blank);
    target.addProperty("flatten", true);
    JsonObject attached = tools.call("", "Target.attachToTarget", target);
    return new Tab(tools, attached.get("sessionId").getAsString());
  }

  private static void end(Process process) {
    try (Stream<ProcessHandle> all = process.descendants()) {
      all.forEach(ProcessHandle::destroyForcibly);
    }
    process.destroyForcibly();
    try {
      // Only then can its folder be deleted.
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    tools.close();
    end(process);
  }
}
