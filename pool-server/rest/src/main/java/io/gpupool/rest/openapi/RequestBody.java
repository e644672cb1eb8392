// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.openapi;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.sun.net.httpserver.HttpExchange;
import io.gpupool.rest.http.ProblemException;
import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A reader of request bodies. It refuses what the OpenAPI document does not allow. */
public final class RequestBody {
  private static final int MAX_BYTES = 64 * 1024;
  private static final int MAX_FAULTS = 5;
  private static final String JSON = "application/json";

  /** What RFC 7396 calls a body that says what is to be different. */
  private static final String PATCH = "application/merge-patch+json";

  private RequestBody() {}

  /** Returns the checked body of a request; an empty object where none is expected. */
  public static JsonObject of(HttpExchange exchange, Operation operation)
      throws IOException, ProblemException {
    Schema schema = operation.body();
    if (schema == null) {
      return new JsonObject();
    }
    checkType(
        exchange.getRequestHeaders().getFirst("Content-Type"), operation.method().equals("PATCH"));
    byte[] bytes = exchange.getRequestBody().readNBytes(MAX_BYTES + 1);
    if (bytes.length > MAX_BYTES) {
      throw new ProblemException(413, "the body has over " + MAX_BYTES + " bytes");
    }
    return checked(parse(bytes), schema);
  }

  private static void checkType(String header, boolean isPatch) throws ProblemException {
    String type = header == null ? "" : header.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
    if (!type.equals(JSON) && !(isPatch && type.equals(PATCH))) {
      throw new ProblemException(
          415,
          "the body must be JSON; say so with 'Content-Type: application/json'",
          isPatch ? Map.of("Accept", JSON, "Accept-Patch", PATCH) : Map.of("Accept", JSON));
    }
  }

  private static JsonElement parse(byte[] bytes) throws ProblemException {
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      JsonReader reader = new JsonReader(new StringReader(text));
      reader.setStrictness(Strictness.STRICT);
      JsonElement json = JsonParser.parseReader(reader);
      if (reader.peek() != JsonToken.END_DOCUMENT) {
        throw new ProblemException(400, "there is more after the body's JSON");
      }
      return json;
    } catch (CharacterCodingException e) {
      throw new ProblemException(400, "the body is not UTF-8");
    } catch (JsonParseException | IOException e) {
      throw new ProblemException(400, "the body is no JSON: " + firstLine(e));
    }
  }

  private static String firstLine(Exception e) {
    Throwable cause = e.getCause() instanceof IOException inner ? inner : e;
    String message = String.valueOf(cause.getMessage());
    return message.lines().findFirst().orElse("");
  }

  private static JsonObject checked(JsonElement json, Schema schema) throws ProblemException {
    List<String> faults = schema.faults(json);
    if (!faults.isEmpty()) {
      throw new ProblemException(
          400,
          "invalid request body: "
              + String.join("; ", faults.subList(0, Math.min(MAX_FAULTS, faults.size())))
              + "; see its schema in /api/v1/openapi.json");
    }
    return json.getAsJsonObject();
  }
}
