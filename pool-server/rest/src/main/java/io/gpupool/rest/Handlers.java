// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import io.gpupool.rest.call.Call;
import io.gpupool.rest.call.Handler;
import io.gpupool.rest.http.ProblemException;
import io.gpupool.rest.http.Response;
import io.gpupool.rest.metrics.PoolMeters;
import io.gpupool.rest.openapi.OpenApi;
import io.gpupool.rest.resource.AdminCollection;
import io.gpupool.rest.resource.CollectionReader;
import io.gpupool.rest.resource.DemandResponse;
import io.gpupool.rest.resource.EventStreams;
import io.gpupool.rest.resource.HistoryResponse;
import io.gpupool.rest.resource.Kind;
import io.gpupool.rest.resource.LeaseRequestTracker;
import io.gpupool.rest.resource.MeResponse;
import io.gpupool.rest.resource.ResourceCollection;
import io.gpupool.rest.resource.WriteHandlers;
import io.gpupool.server.identity.Role;
import io.gpupool.transport.metrics.MeterPage;
import io.gpupool.transport.metrics.ProcessMeters;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The handlers of the document's operations, by operation id. */
final class Handlers {
  private static final String JSON = "application/json";
  private static final Map<String, String> CHANGING = Map.of("Cache-Control", "no-store");

  private static final Response OK = Response.text(200, JSON, "{\"status\":\"ok\"}", CHANGING);

  private final Map<String, Handler> byId = new HashMap<>();
  private final EventStreams events = new EventStreams();

  Handlers(ProcessMeters meters) {
    for (Kind kind : Kind.values()) {
      add(kind);
    }
    add(AdminCollection.tokens);
    add(AdminCollection.audit);
    byId.putAll(WriteHandlers.byId());
    byId.putAll(new LeaseRequestTracker().byId());
    byId.put("gpu_history", HistoryResponse::answer);
    byId.put("events", events::answer);
    byId.put("openapi", call -> Response.text(200, JSON, OpenApi.get().text(), Map.of()));
    // That the control thread answers is all it takes to live.
    byId.put(
        "healthz",
        call -> {
          call.trouble();
          return OK;
        });
    byId.put(
        "readyz",
        call -> {
          Optional<String> trouble = call.trouble();
          if (trouble.isPresent()) {
            throw new ProblemException(503, trouble.get());
          }
          return OK;
        });
    byId.put("me", call -> Response.json(200, JSON, MeResponse.of(call.caller()), CHANGING));
    byId.put(
        "demand", call -> Response.json(200, JSON, DemandResponse.of(call.snapshot()), CHANGING));
    byId.put(
        "metrics", call -> Response.text(200, MeterPage.TYPE, metrics(call, meters), CHANGING));
  }

  /** What the caller may see of the pool; how the process does is for admins. */
  private static String metrics(Call call, ProcessMeters meters) throws ProblemException {
    boolean isAdmin = call.caller().role() == Role.ADMIN;
    return PoolMeters.page(call.snapshot())
        + meters.page(name -> isAdmin || name.startsWith("gpupool_"));
  }

  private void add(ResourceCollection source) {
    CollectionReader listing = new CollectionReader(source);
    byId.put("list_" + source.name(), listing::page);
    byId.put("get_" + source.name(), listing::one);
  }

  Map<String, Handler> byId() {
    return byId;
  }
}
