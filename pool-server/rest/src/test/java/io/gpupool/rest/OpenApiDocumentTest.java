// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.ToNumberPolicy;
import io.gpupool.rest.openapi.OpenApi;
import io.openapiparser.OpenApiParser;
import io.openapiparser.OpenApiResult;
import io.openapiprocessor.jsonschema.schema.DocumentLoader;
import io.openapiprocessor.jsonschema.schema.DocumentStore;
import io.openapiprocessor.jsonschema.schema.JsonInstance;
import io.openapiprocessor.jsonschema.schema.SchemaStore;
import io.openapiprocessor.jsonschema.schema.SchemaVersion;
import io.openapiprocessor.jsonschema.validator.Validator;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The document against the OpenAPI Initiative's schema of OpenAPI 3.1, and JSON Schema's own. */
class OpenApiDocumentTest {
  private static final Gson GSON =
      new GsonBuilder().setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE).create();

  private static final DocumentLoader LOADER =
      new DocumentLoader(
          uri -> {
            throw new IOException("the document needs " + uri);
          },
          text -> GSON.fromJson(text, Object.class));

  private static final SchemaStore SCHEMAS = new SchemaStore(LOADER);

  @BeforeAll
  static void load() {
    SCHEMAS.registerDraft202012();
  }

  @Test
  void document_isOpenApi() {
    assertThat(faults(document -> {})).isEmpty();
  }

  @Test
  void document_spoiledAnywhere_isNot() {
    assertThat(faults(document -> get(document).addProperty("bogus", 1))).isNotEmpty();
    assertThat(
            faults(document ->
                get(document)
                    .getAsJsonObject("responses")
                    .getAsJsonObject("200")
                    .remove("description")))
        .isNotEmpty();
    assertThat(
            faults(document ->
                document
                    .getAsJsonObject("components")
                    .getAsJsonObject("schemas")
                    .getAsJsonObject("Me")
                    .addProperty("type", "strin")))
        .containsExactly("#/components/schemas/Me");
  }

  private static JsonObject get(JsonObject document) {
    return document.getAsJsonObject("paths").getAsJsonObject("/api/v1/me").getAsJsonObject("get");
  }

  /** Where a copy of the document is not as it must be, once this was done to it. */
  private static List<String> faults(Consumer<JsonObject> spoiling) {
    JsonObject copy = OpenApi.get().document().deepCopy();
    spoiling.accept(copy);
    Object value = GSON.fromJson(copy, Object.class);
    OpenApiResult parsed =
        new OpenApiParser(new DocumentStore(), LOADER).parse(URI.create("doc:/openapi"), value);
    List<String> faults = new ArrayList<>();
    if (!parsed.validate(new Validator(), SCHEMAS)) {
      parsed
          .getValidationErrors()
          .forEach(error -> faults.add(error.getInstanceLocation() + ": " + error.getText()));
    }
    checkSchemas("#", value, faults);
    return faults;
  }

  /** Every schema in it, which OpenAPI's own schema takes as they come. */
  private static void checkSchemas(String at, Object value, List<String> faults) {
    if (value instanceof Map<?, ?> object) {
      object.forEach((name, inner) -> {
        String place = at + "/" + name;
        if (name.equals("schema") || at.equals("#/components/schemas")) {
          checkSchema(place, inner, faults);
        } else {
          checkSchemas(place, inner, faults);
        }
      });
    } else if (value instanceof Collection<?> array) {
      array.forEach(inner -> checkSchemas(at + "/-", inner, faults));
    }
  }

  private static void checkSchema(String at, Object schema, List<String> faults) {
    boolean valid =
        new Validator()
            .validate(
                SCHEMAS.getSchema(SchemaVersion.Draft202012.getSchemaUri()),
                new JsonInstance(schema))
            .isValid();
    if (!valid) {
      faults.add(at);
    }
  }
}
