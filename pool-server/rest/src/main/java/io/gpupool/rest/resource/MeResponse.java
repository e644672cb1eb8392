// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.gson.JsonObject;
import io.gpupool.server.identity.UserInfo;
import java.util.Objects;

/**
 * The answer that tells callers who they are, for clients that offer only what the caller may do.
 */
public final class MeResponse {
  private MeResponse() {}

  public static JsonObject of(UserInfo caller) {
    JsonObject json = new JsonObject();
    json.addProperty("name", caller.name());
    json.addProperty("tenant", caller.tenant());
    json.addProperty("role", caller.role().text());
    json.addProperty("expiresAtMillis", Objects.requireNonNullElse(caller.expiresAtMillis(), 0L));
    return json;
  }
}
