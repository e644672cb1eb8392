// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.openapi;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.gpupool.json.JsonForm;
import io.gpupool.server.identity.Role;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The OpenAPI document of the interface: {@code openapi.json}, with the schemas that are generated
 * from the control plane's messages. Requests are checked and dispatched by it.
 */
public final class OpenApi {
  private final String text;
  private final JsonObject document;
  private final List<Operation> operations = new ArrayList<>();

  private static final class Loaded {
    static final OpenApi DOCUMENT = load();
  }

  private OpenApi(JsonObject written) {
    document = written;
    MessageSchemas.complete(document.getAsJsonObject("components").getAsJsonObject("schemas"));
    text = JsonForm.text(document);
    for (Map.Entry<String, JsonElement> path : document.getAsJsonObject("paths").entrySet()) {
      path.getValue()
          .getAsJsonObject()
          .entrySet()
          .forEach(method ->
              operations.add(
                  operation(path.getKey(), method.getKey(), method.getValue().getAsJsonObject())));
    }
  }

  /** Returns the document, which is read at the first call so that no start waits for it. */
  public static OpenApi get() {
    return Loaded.DOCUMENT;
  }

  private static OpenApi load() {
    try (InputStream in = OpenApi.class.getResourceAsStream("/io/gpupool/rest/openapi.json")) {
      String written = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return new OpenApi(JsonParser.parseString(written).getAsJsonObject());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public String text() {
    return text;
  }

  public JsonObject document() {
    return document;
  }

  public List<Operation> operations() {
    return operations;
  }

  /** Returns the object that a {@code $ref} stands for, or the object itself. */
  public JsonObject resolve(JsonObject object) {
    if (!object.has("$ref")) {
      return object;
    }
    JsonObject at = document;
    for (String name : object.get("$ref").getAsString().substring("#/".length()).split("/")) {
      at = at.getAsJsonObject(name);
    }
    return at;
  }

  private Operation operation(String path, String method, JsonObject json) {
    List<Parameter> parameters = new ArrayList<>();
    if (json.has("parameters")) {
      for (JsonElement element : json.getAsJsonArray("parameters")) {
        JsonObject parameter = resolve(element.getAsJsonObject());
        if (parameter.get("in").getAsString().equals("query")) {
          parameters.add(Parameter.of(parameter));
        }
      }
    }
    return new Operation(
        json.get("operationId").getAsString(),
        method.toUpperCase(Locale.ROOT),
        List.of(path.split("/", -1)),
        role(json.has("security") ? json : document),
        List.copyOf(parameters),
        mediaTypes(json.getAsJsonObject("responses")),
        json.has("requestBody") ? body(json.getAsJsonObject("requestBody")) : null);
  }

  private static @Nullable Role role(JsonObject secured) {
    JsonArray schemes = secured.getAsJsonArray("security");
    return schemes.isEmpty()
        ? null
        : Role.ofText(
            schemes.get(0).getAsJsonObject().getAsJsonArray("bearer").get(0).getAsString());
  }

  private static List<String> mediaTypes(JsonObject responses) {
    Set<String> types = new LinkedHashSet<>();
    for (Map.Entry<String, JsonElement> response : responses.entrySet()) {
      JsonObject answer = response.getValue().getAsJsonObject();
      if (response.getKey().startsWith("2") && answer.has("content")) {
        types.addAll(answer.getAsJsonObject("content").keySet());
      }
    }
    return List.copyOf(types);
  }

  private Schema body(JsonObject body) {
    return new Schema(
        document,
        body.getAsJsonObject("content")
            .getAsJsonObject("application/json")
            .getAsJsonObject("schema"));
  }
}
