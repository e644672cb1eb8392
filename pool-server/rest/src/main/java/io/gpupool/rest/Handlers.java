// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** What answers each operation of the document, by the operation's id. */
final class Handlers {
  private static final String JSON = "application/json";
  private static final Map<String, String> CHANGING = Map.of("Cache-Control", "no-store");

  private static final Answer OK = Answer.text(200, JSON, "{\"status\":\"ok\"}", CHANGING);

  private final Map<String, Handler> byId = new HashMap<>();
  private final Events events = new Events();

  Handlers() {
    for (Kind kind : Kind.values()) {
      Listing listing = new Listing(kind);
      byId.put("list_" + kind, listing::page);
      byId.put("get_" + kind, listing::one);
    }
    byId.put("events", events::answer);
    byId.put("openapi", (call, seen) -> Answer.text(200, JSON, OpenApi.get().text(), Map.of()));
    // That the control thread answers is all it takes to live.
    byId.put(
        "healthz",
        (call, seen) -> {
          call.trouble();
          return OK;
        });
    byId.put(
        "readyz",
        (call, seen) -> {
          Optional<String> trouble = call.trouble();
          if (trouble.isPresent()) {
            throw new Problem(503, trouble.get());
          }
          return OK;
        });
    byId.put("metrics", (call, seen) -> Answer.text(200, Metrics.TYPE, Metrics.of(seen), CHANGING));
  }

  Map<String, Handler> byId() {
    return byId;
  }
}
