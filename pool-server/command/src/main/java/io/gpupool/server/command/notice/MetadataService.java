// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command.notice;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/**
 * A cloud's metadata service, over plain HTTP, as it is reached from the machine itself: without a
 * proxy, with bounds on the time and length of answers.
 */
final class MetadataService {
  /** The time for an answer that does not wait for anything. */
  static final Duration PATIENCE = Duration.ofSeconds(4);

  static final int NOT_FOUND = 404;
  static final int UNAUTHORIZED = 401;
  private static final int OK = 200;

  private static final Duration CONNECT = Duration.ofSeconds(2);
  private static final long MOST_BYTES = 64 * 1024;

  private final URI base;
  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .proxy(HttpClient.Builder.NO_PROXY)
          .connectTimeout(CONNECT)
          .build();

  /** Of the service at an address. */
  MetadataService(URI base) {
    this.base = base;
  }

  /**
   * Asks for a path with one header.
   *
   * @throws IOException if there is no answer in time; the message is for people
   */
  HttpResponse<String> get(String path, String header, String value, Duration patience)
      throws IOException, InterruptedException {
    return send(HttpRequest.newBuilder(uri(path)).header(header, value).GET().build(), patience);
  }

  /** Puts nothing to a path with one header. */
  HttpResponse<String> put(String path, String header, String value)
      throws IOException, InterruptedException {
    HttpRequest.BodyPublisher nothing = HttpRequest.BodyPublishers.noBody();
    return send(
        HttpRequest.newBuilder(uri(path)).header(header, value).PUT(nothing).build(), PATIENCE);
  }

  /** Returns the text of an answer with status 200. */
  static String text(HttpResponse<String> answer) throws IOException {
    if (answer.statusCode() != OK) {
      throw new IOException(answer.uri() + " answers with status " + answer.statusCode());
    }
    return answer.body();
  }

  /** Reads the JSON object of an answer with status 200. */
  static <T> T read(HttpResponse<String> answer, Function<JsonObject, T> reader)
      throws IOException {
    String text = text(answer);
    try {
      return reader.apply(JsonParser.parseString(text).getAsJsonObject());
    } catch (RuntimeException e) {
      throw new IOException(
          answer.uri() + " answers something that cannot be read: " + e.getMessage(), e);
    }
  }

  private URI uri(String path) {
    return URI.create(base + path);
  }

  private HttpResponse<String> send(HttpRequest request, Duration patience)
      throws IOException, InterruptedException {
    // The client's own limit does not hold for the body.
    CompletableFuture<HttpResponse<String>> answer =
        client.sendAsync(request, BodyHandlers.limiting(BodyHandlers.ofString(UTF_8), MOST_BYTES));
    try {
      return answer.get(patience.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      Throwable cause = Objects.requireNonNullElse(e.getCause(), e);
      String reason =
          Objects.requireNonNullElse(cause.getMessage(), cause.getClass().getSimpleName());
      throw new IOException(request.uri() + " cannot be reached: " + reason, e);
    } catch (TimeoutException e) {
      throw new IOException(
          request.uri() + " does not answer within " + patience.toSeconds() + " s", e);
    } finally {
      answer.cancel(true);
    }
  }
}
