// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.http;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.Map;

/** A request that was rejected or has failed, described as RFC 9457 says. */
public final class ProblemException extends Exception {
  private static final Map<Integer, String> TITLES =
      Map.ofEntries(
          Map.entry(400, "Bad Request"),
          Map.entry(401, "Unauthorized"),
          Map.entry(403, "Forbidden"),
          Map.entry(404, "Not Found"),
          Map.entry(405, "Method Not Allowed"),
          Map.entry(406, "Not Acceptable"),
          Map.entry(409, "Conflict"),
          Map.entry(410, "Gone"),
          Map.entry(412, "Precondition Failed"),
          Map.entry(413, "Content Too Large"),
          Map.entry(415, "Unsupported Media Type"),
          Map.entry(421, "Misdirected Request"),
          Map.entry(422, "Unprocessable Content"),
          Map.entry(428, "Precondition Required"),
          Map.entry(429, "Too Many Requests"),
          Map.entry(500, "Internal Server Error"),
          Map.entry(501, "Not Implemented"),
          Map.entry(503, "Service Unavailable"),
          Map.entry(507, "Insufficient Storage"));

  private final int status;
  private final transient Map<String, String> headers;
  private final transient Map<String, JsonElement> members;

  public ProblemException(int status, String detail) {
    this(status, detail, Map.of());
  }

  public ProblemException(int status, String detail, Map<String, String> headers) {
    this(status, detail, headers, Map.of());
  }

  /**
   * Describes a problem.
   *
   * @param members of its JSON object beside those that every problem has
   */
  public ProblemException(
      int status,
      String detail,
      Map<String, String> headers,
      Map<String, ? extends JsonElement> members) {
    super(detail, null, false, false);
    this.status = status;
    this.headers = headers;
    this.members = Map.copyOf(members);
  }

  public int status() {
    return status;
  }

  public Response answer() {
    JsonObject body = new JsonObject();
    body.addProperty("type", "about:blank");
    body.addProperty("title", TITLES.get(status));
    body.addProperty("status", status);
    body.addProperty("detail", getMessage());
    members.forEach(body::add);
    return Response.json(status, "application/problem+json", body, headers);
  }
}
