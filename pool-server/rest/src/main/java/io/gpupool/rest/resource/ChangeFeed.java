// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.gson.JsonObject;
import io.gpupool.server.view.PoolSnapshot;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The changes since one caller was last told, as server-sent events. Used by one thread. */
final class ChangeFeed {
  private final List<Kind> kinds;
  private final Map<Kind, Map<String, Resource>> told = new EnumMap<>(Kind.class);

  ChangeFeed(List<Kind> kinds) {
    this.kinds = kinds;
    kinds.forEach(kind -> told.put(kind, Map.of()));
  }

  /** The events; all there is has been added the first time. */
  String since(PoolSnapshot snapshot) {
    StringBuilder events = new StringBuilder();
    for (Kind kind : kinds) {
      Map<String, Resource> now = new LinkedHashMap<>();
      kind.in(snapshot).forEach(resource -> now.put(resource.id(), resource));
      Map<String, Resource> before = told.put(kind, now);
      for (Resource resource : now.values()) {
        Resource old = before.get(resource.id());
        if (old == null) {
          append(events, kind, "added", resource);
        } else if (!old.lasting().equals(resource.lasting())) {
          append(events, kind, "changed", resource);
        }
      }
      for (Resource old : before.values()) {
        if (!now.containsKey(old.id())) {
          append(events, kind, "removed", old);
        }
      }
    }
    return events.toString();
  }

  private static void append(StringBuilder events, Kind kind, String change, Resource resource) {
    JsonObject data = new JsonObject();
    data.addProperty("kind", kind.name());
    data.addProperty("change", change);
    data.addProperty("id", resource.id());
    data.add("resource", resource.json());
    // JSON has its line ends escaped, so it is one line.
    events.append("event: ").append(kind).append("\ndata: ").append(data).append("\n\n");
  }
}
