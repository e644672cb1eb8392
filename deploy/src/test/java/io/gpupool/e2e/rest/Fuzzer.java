// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.rest;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.gpupool.rest.openapi.Schema;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/**
 * Makes requests of a document's operations, good ones and spoiled ones, with ids of what there is,
 * and checks that each answer is one that the document has.
 */
public final class Fuzzer {
  private static final Set<String> NEVER = Set.of("events");
  private static final int MAX_NAMES = 64;
  private static final List<String> ODD =
      List.of(
          "0", "-1", "999999999999", "L1.x", "%00", "..", "a b", "\u00e9", "x".repeat(300), "*");

  /** One operation as the document has it. */
  private record Operation(String path, String method, JsonObject json) {}

  private final HttpClient http = HttpClient.newHttpClient();
  private final String server;
  private final List<String> tokens;
  private final Set<String> spared;
  private final JsonObject document;
  private final Random random;
  private final List<Operation> operations = new ArrayList<>();
  private final List<String> names = new ArrayList<>();
  private final List<String> tags = new ArrayList<>(List.of("*", "\"1-x\"", "W/\"\"", ""));
  private final Map<Integer, Integer> answers = new TreeMap<>();
  private final JsonMaker maker;

  /**
   * Starts with the document that the server has.
   *
   * @param tokens the first is used most
   * @param spared ids of what must live
   */
  public Fuzzer(String server, List<String> tokens, Set<String> spared, long seed)
      throws IOException, InterruptedException {
    this.server = server;
    this.tokens = tokens;
    this.spared = spared;
    random = new Random(seed);
    HttpRequest get = HttpRequest.newBuilder(URI.create(server + "/api/v1/openapi.json")).build();
    document =
        JsonParser.parseString(http.send(get, BodyHandlers.ofString()).body()).getAsJsonObject();
    document
        .getAsJsonObject("paths")
        .asMap()
        .forEach((path, methods) ->
            methods
                .getAsJsonObject()
                .asMap()
                .forEach((method, json) -> {
                  if (!NEVER.contains(json.getAsJsonObject().get("operationId").getAsString())) {
                    operations.add(
                        new Operation(
                            path, method.toUpperCase(Locale.ROOT), json.getAsJsonObject()));
                  }
                }));
    maker = new JsonMaker(document, random, names);
  }

  /** How many answers there were of each status. */
  public Map<Integer, Integer> answers() {
    return answers;
  }

  /** Makes a request; what is wrong with its answer, a line each. */
  public List<String> next() throws IOException, InterruptedException {
    Operation operation = any(operations);
    HttpRequest request = request(operation);
    HttpResponse<String> answer = http.send(request, BodyHandlers.ofString());
    answers.merge(answer.statusCode(), 1, Integer::sum);
    answer.headers().firstValue("ETag").ifPresent(tags::add);
    List<String> faults = new ArrayList<>();
    check(operation, answer, faults);
    return faults.stream()
        .map(fault ->
            request.method()
                + " "
                + request.uri()
                + " -> "
                + answer.statusCode()
                + ": "
                + fault
                + "\n"
                + answer.body())
        .toList();
  }

  private HttpRequest request(Operation operation) {
    StringBuilder path = new StringBuilder();
    for (String segment : operation.path().split("/")) {
      if (!segment.isEmpty()) {
        path.append('/').append(segment.startsWith("{") ? escaped(name()) : segment);
      }
    }
    HttpRequest.Builder request = HttpRequest.newBuilder();
    char separator = '?';
    if (operation.json().has("parameters")) {
      for (JsonElement element : operation.json().getAsJsonArray("parameters")) {
        JsonObject parameter = maker.resolve(element.getAsJsonObject());
        String name = parameter.get("name").getAsString();
        boolean wanted = parameter.has("required") || random.nextInt(3) == 0;
        switch (parameter.get("in").getAsString()) {
          case "query" -> {
            if (wanted) {
              String value =
                  random.nextInt(3) == 0
                      ? any(ODD)
                      : maker.make(parameter.getAsJsonObject("schema")).getAsString();
              path.append(separator).append(name).append('=').append(escaped(value));
              separator = '&';
            }
          }
          case "header" -> {
            if (wanted && random.nextInt(6) > 0) {
              request.header(name, header(name));
            }
          }
          default -> {}
        }
      }
    }
    int who = random.nextInt(12);
    if (who > 0) {
      request.header("Authorization", "Bearer " + (who < 9 ? tokens.getFirst() : any(tokens)));
    }
    return request
        .uri(URI.create(server + path))
        .timeout(Duration.ofSeconds(30))
        .method(operation.method(), body(operation, request))
        .build();
  }

  private HttpRequest.BodyPublisher body(Operation operation, HttpRequest.Builder request) {
    if (!operation.json().has("requestBody")) {
      return random.nextInt(8) == 0 && !operation.method().equals("GET")
          ? BodyPublishers.ofString("{}")
          : BodyPublishers.noBody();
    }
    if (random.nextInt(20) > 0) {
      request.header("Content-Type", "application/json");
    }
    JsonElement json =
        maker.make(
            operation
                .json()
                .getAsJsonObject("requestBody")
                .getAsJsonObject("content")
                .getAsJsonObject("application/json")
                .getAsJsonObject("schema"));
    String text =
        switch (random.nextInt(6)) {
          case 0, 1 -> maker.spoil(json).toString();
          case 2 -> json.toString().substring(random.nextInt(json.toString().length()));
          default -> json.toString();
        };
    return BodyPublishers.ofString(text);
  }

  private String header(String name) {
    return switch (name) {
      case "If-Match", "If-None-Match" -> any(tags);
      case "Idempotency-Key" -> random.nextInt(9) == 0 ? "two words" : "key" + random.nextInt(30);
      default -> random.nextInt(9) == 0 ? "wait=x" : "wait=0";
    };
  }

  private String name() {
    return names.isEmpty() || random.nextInt(4) == 0 ? any(ODD) : any(names);
  }

  private void check(Operation operation, HttpResponse<String> answer, List<String> faults) {
    int status = answer.statusCode();
    if (status >= 500) {
      faults.add("the server failed");
    }
    JsonElement known = operation.json().getAsJsonObject("responses").get(Integer.toString(status));
    if (known == null) {
      faults.add("the document of " + operation.path() + " has no such answer");
      return;
    }
    JsonObject content = maker.resolve(known.getAsJsonObject()).getAsJsonObject("content");
    if (content == null) {
      if (!answer.body().isEmpty()) {
        faults.add("there is a body");
      }
      return;
    }
    String type = answer.headers().firstValue("Content-Type").orElse("").split(";")[0];
    if (!content.has(type)) {
      faults.add("the document knows no " + type);
    } else if (type.endsWith("json")) {
      try {
        JsonElement json = JsonParser.parseString(answer.body());
        JsonObject schema = content.getAsJsonObject(type).getAsJsonObject("schema");
        faults.addAll(new Schema(document, schema).faults(json));
        harvest(json);
      } catch (JsonParseException e) {
        faults.add("no JSON");
      }
    }
  }

  /** Takes ids and names for later requests. */
  private void harvest(JsonElement json) {
    if (json.isJsonArray()) {
      json.getAsJsonArray().forEach(this::harvest);
    } else if (json.isJsonObject()) {
      for (Map.Entry<String, JsonElement> field : json.getAsJsonObject().entrySet()) {
        if (Set.of("id", "name", "server", "uuid", "gpu").contains(field.getKey())
            && field.getValue().isJsonPrimitive()) {
          String name = field.getValue().getAsString();
          if (!spared.contains(name) && !names.contains(name)) {
            names.add(name);
          }
        } else {
          harvest(field.getValue());
        }
      }
    }
    while (names.size() > MAX_NAMES) {
      names.remove(random.nextInt(names.size()));
    }
  }

  private static String escaped(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private <T> T any(List<T> of) {
    return of.get(random.nextInt(of.size()));
  }
}
