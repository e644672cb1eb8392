// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.rest;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Asks a server for every operation of its document with tokens that are no good for it, naming
 * what belongs to the tenant blue: none but those in a list may be open, and nobody else may see or
 * change anything of blue's. A new operation is asked for like the others.
 */
public final class AccessScan {
  /** What whoever can connect may ask for. */
  private static final Set<String> OPEN = Set.of("healthz", "openapi", "readyz");

  private static final int STREAM_MILLIS = 700;

  private final HttpClient http = HttpClient.newHttpClient();
  private final String server;
  private final String admin;
  private final JsonObject document;

  /** By the names of the variables in paths, or by kind and name. */
  private final Map<String, String> names = new TreeMap<>(Map.of("name", "blue", "gpu", "0"));

  /** What answers to others must not contain. */
  private final Set<String> marks = new TreeSet<>(Set.of("\"blue\"", "blue-program"));

  private final List<String> faults = new ArrayList<>();

  /**
   * Makes the tenants blue and red, with a lease, a request that waits and a partition of blue's.
   */
  public AccessScan(String server, String admin) throws IOException, InterruptedException {
    this.server = server;
    this.admin = admin;
    document = json(send("GET", "/api/v1/openapi.json", "", ""));
    String name = items("servers").get(0).getAsJsonObject().get("name").getAsString();
    names.put("server", name);
    names.put("servers", name);
    JsonObject gpu = items("gpus").get(0).getAsJsonObject();
    names.put("gpus", gpu.get("uuid").getAsString());
    made("/api/v1/tenants", admin, "{'name':'blue'}");
    made("/api/v1/tenants", admin, "{'name':'red'}");
    JsonObject token = token("blue", "user", 0);
    names.put("tokens", token.getAsJsonObject("info").get("id").getAsString());
    String blue = token.get("token").getAsString();
    String holder = "'holder':{'program':'blue-program'}";
    String lease =
        made("/api/v1/leases", blue, "{'fraction':0.5," + holder + "}").get("id").getAsString();
    made(
        "/api/v1/leases",
        blue,
        "{'gpus':" + items("gpus").size() + ",'fraction':0.75,'waitMillis':600000," + holder + "}");
    String request = items("queue").get(0).getAsJsonObject().get("id").getAsString();
    made(
        "/api/v1/partitions",
        admin,
        "{'ref':{'gpu':0,'name':'blue'},'tenants':['blue'],"
            + "'size':{'memoryBytes':1048576,'computePercent':1}}");
    names.put("leases", lease);
    names.put("queue", request);
    marks.add("\"" + lease + "\"");
    marks.add("\"" + request + "\"");
  }

  /** Asks for everything; what is wrong, a line each. */
  public List<String> faults() throws IOException, InterruptedException {
    JsonObject revoked = token("red", "admin", 0);
    String id = revoked.getAsJsonObject("info").get("id").getAsString();
    send("DELETE", "/api/v1/tokens/" + id, admin, "");
    String expired = token("red", "admin", 1).get("token").getAsString();
    Map<String, String> unknown =
        Map.of(
            "none",
            "",
            "mistyped",
            "gpupool_mistyped",
            "revoked",
            revoked.get("token").getAsString(),
            "expired",
            expired);
    Map<String, String> others =
        Map.of(
            "red user", token("red", "user", 0).get("token").getAsString(),
            "red reader", token("red", "read-only", 0).get("token").getAsString());
    Set<String> open = new TreeSet<>();
    for (Map.Entry<String, JsonElement> path : document.getAsJsonObject("paths").entrySet()) {
      for (Map.Entry<String, JsonElement> method : path.getValue().getAsJsonObject().entrySet()) {
        JsonObject operation = method.getValue().getAsJsonObject();
        for (Map.Entry<String, String> who : unknown.entrySet()) {
          int status = ask(path.getKey(), method.getKey(), operation, who.getValue()).statusCode();
          if (status == 200) {
            open.add(operation.get("operationId").getAsString());
          } else if (status != 401) {
            faults.add(method.getKey() + " " + path.getKey() + " with " + who + ": " + status);
          }
        }
        for (Map.Entry<String, String> who : others.entrySet()) {
          look(path.getKey(), method.getKey(), operation, who);
        }
      }
    }
    if (!open.equals(OPEN)) {
      faults.add("open are " + open);
    }
    for (String what : List.of("leases", "queue")) {
      if (!items(what).toString().contains("\"" + names.get(what) + "\"")) {
        faults.add("blue has lost " + names.get(what));
      }
    }
    if (!items("partitions").toString().contains("\"blue\"")) {
      faults.add("blue has lost its partition");
    }
    return faults;
  }

  private void look(String path, String method, JsonObject operation, Map.Entry<String, String> who)
      throws IOException, InterruptedException {
    HttpResponse<InputStream> answer = ask(path, method, operation, who.getValue());
    int status = answer.statusCode();
    String body = text(answer);
    boolean isToSee = method.equals("get") && status == 200;
    if (status != 403 && status != 404 && !isToSee) {
      faults.add(method + " " + path + " as " + who.getKey() + ": " + status + " " + body);
    }
    for (String mark : marks) {
      if (body.contains(mark)) {
        faults.add(method + " " + path + " tells " + who.getKey() + " of " + mark);
      }
    }
  }

  private HttpResponse<InputStream> ask(
      String path, String method, JsonObject operation, String token)
      throws IOException, InterruptedException {
    StringBuilder to = new StringBuilder();
    String kind = "";
    for (String segment : path.substring(1).split("/")) {
      String variable = segment.replaceAll("[{}]", "");
      to.append('/')
          .append(
              segment.startsWith("{")
                  ? names.getOrDefault(variable.equals("id") ? kind : variable, "0")
                  : segment);
      kind = segment;
    }
    return send(
        method.toUpperCase(Locale.ROOT),
        to.toString(),
        token,
        operation.has("requestBody") ? body(operation) : "");
  }

  /** In the name of blue, where a body can be. */
  private String body(JsonObject operation) {
    String schema =
        operation
            .getAsJsonObject("requestBody")
            .getAsJsonObject("content")
            .getAsJsonObject("application/json")
            .getAsJsonObject("schema")
            .get("$ref")
            .getAsString();
    JsonObject rule =
        document
            .getAsJsonObject("components")
            .getAsJsonObject("schemas")
            .getAsJsonObject(schema.substring(schema.lastIndexOf('/') + 1));
    if (rule.getAsJsonObject("properties").has("tenant")) {
      return "{\"tenant\":\"blue\"}";
    }
    if (rule.getAsJsonObject("properties").has("server")) {
      return "{\"server\":\"" + names.get("server") + "\"}";
    }
    // A change that changes nothing is refused whoever asks.
    return rule.has("minProperties") ? "{\"hard\":true}" : "{}";
  }

  private HttpResponse<InputStream> send(String method, String path, String token, String body)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(server + path))
            .header("If-Match", "*")
            .method(
                method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    if (!token.isEmpty()) {
      request.header("Authorization", "Bearer " + token);
    }
    if (!body.isEmpty()) {
      request.header("Content-Type", "application/json");
      request.header("Idempotency-Key", "scan-" + Integer.toHexString(body.hashCode()));
    }
    return http.send(request.build(), BodyHandlers.ofInputStream());
  }

  /** What is answered; of a stream that does not end, what comes at once. */
  private static String text(HttpResponse<InputStream> answer)
      throws IOException, InterruptedException {
    try (InputStream in = answer.body()) {
      if (!answer.headers().firstValue("Content-Type").orElse("").contains("event-stream")) {
        return new String(in.readAllBytes(), StandardCharsets.UTF_8);
      }
      Thread.sleep(STREAM_MILLIS);
      return new String(in.readNBytes(in.available()), StandardCharsets.UTF_8);
    }
  }

  private JsonObject token(String tenant, String role, long validMillis)
      throws IOException, InterruptedException {
    return made(
        "/api/v1/tokens",
        admin,
        "{'tenant':'" + tenant + "','role':'" + role + "','validMillis':" + validMillis + "}");
  }

  private JsonObject made(String path, String token, String body)
      throws IOException, InterruptedException {
    HttpResponse<InputStream> answer = send("POST", path, token, body.replace('\'', '"'));
    if (answer.statusCode() / 100 != 2) {
      throw new AssertionError(path + " " + body + ": " + text(answer));
    }
    return json(answer);
  }

  private JsonArray items(String kind) throws IOException, InterruptedException {
    return json(send("GET", "/api/v1/" + kind, admin, "")).getAsJsonArray("items");
  }

  private static JsonObject json(HttpResponse<InputStream> answer)
      throws IOException, InterruptedException {
    return JsonParser.parseString(text(answer)).getAsJsonObject();
  }
}
