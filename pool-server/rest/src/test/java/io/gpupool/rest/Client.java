// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.stream.Stream;

/** Asks a server as a client would. */
public record Client(HttpClient http, int port) {
  public Client(int port) {
    this(HttpClient.newHttpClient(), port);
  }

  /** A GET with the sample's token and further headers, each a name and a value. */
  public HttpResponse<String> get(String path, String... headers)
      throws IOException, InterruptedException {
    return send("GET", path, withToken(headers));
  }

  HttpResponse<String> send(String method, String path, String... headers)
      throws IOException, InterruptedException {
    return http.send(request(method, path, headers), BodyHandlers.ofString());
  }

  /** A request with the sample's token, JSON and further headers. */
  HttpResponse<String> put(String method, String path, String json, String... headers)
      throws IOException, InterruptedException {
    return as("application/json", method, path, json, headers);
  }

  /** The same with a body that is told to be of some type. */
  HttpResponse<String> as(String type, String method, String path, String body, String... headers)
      throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .header("Content-Type", type)
            .headers(withToken(headers))
            .build(),
        BodyHandlers.ofString());
  }

  HttpResponse<Stream<String>> lines(String path) throws IOException, InterruptedException {
    return http.send(request("GET", path, withToken()), BodyHandlers.ofLines());
  }

  public static JsonObject json(HttpResponse<String> answer) {
    return JsonParser.parseString(answer.body()).getAsJsonObject();
  }

  private HttpRequest request(String method, String path, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .method(method, HttpRequest.BodyPublishers.noBody());
    if (headers.length > 0) {
      request.headers(headers);
    }
    return request.build();
  }

  private static String[] withToken(String... headers) {
    return Stream.concat(
            Stream.of("Authorization", "Bearer " + SamplePool.TOKEN), Stream.of(headers))
        .toArray(String[]::new);
  }
}
