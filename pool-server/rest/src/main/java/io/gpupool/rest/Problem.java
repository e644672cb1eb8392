// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.google.gson.JsonObject;
import java.util.Map;

/** A request that cannot be answered as wished, as RFC 9457 tells of it. */
final class Problem extends Exception {
  private static final Map<Integer, String> TITLES =
      Map.of(
          400, "Bad Request",
          401, "Unauthorized",
          404, "Not Found",
          405, "Method Not Allowed",
          406, "Not Acceptable",
          500, "Internal Server Error",
          503, "Service Unavailable");

  private final int status;
  private final Map<String, String> headers;

  Problem(int status, String detail) {
    this(status, detail, Map.of());
  }

  Problem(int status, String detail, Map<String, String> headers) {
    super(detail, null, false, false);
    this.status = status;
    this.headers = headers;
  }

  Answer answer() {
    JsonObject body = new JsonObject();
    body.addProperty("type", "about:blank");
    body.addProperty("title", TITLES.get(status));
    body.addProperty("status", status);
    body.addProperty("detail", getMessage());
    return Answer.json(status, "application/problem+json", body, headers);
  }
}
