// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.gpupool.server.autoscaling.PendingRequest;
import io.gpupool.server.autoscaling.PoolLoad;
import io.gpupool.server.autoscaling.ServerLoad;
import io.gpupool.server.view.PoolSnapshot;
import java.util.Map;
import java.util.TreeMap;

/**
 * The answer about demand: the GPUs that the pool lacks and the servers that it could do without,
 * for programs that add and remove servers.
 */
public final class DemandResponse {
  private DemandResponse() {}

  public static JsonObject of(PoolSnapshot pool) {
    PoolLoad load = PoolLoad.of(pool.servers(), pool.queue());
    JsonObject json = new JsonObject();
    json.addProperty("requests", load.waiting().size());
    json.addProperty("gpus", load.waitingGpus());
    Map<String, Double> gpusByModel = new TreeMap<>();
    for (PendingRequest demand : load.waiting()) {
      gpusByModel.merge(demand.model(), demand.gpus(), Double::sum);
    }
    JsonArray models = new JsonArray();
    gpusByModel.forEach((model, gpus) -> {
      JsonObject one = new JsonObject();
      one.addProperty("model", model);
      one.addProperty("gpus", gpus);
      models.add(one);
    });
    json.add("models", models);
    JsonArray servers = new JsonArray();
    for (ServerLoad server : load.servers()) {
      JsonObject one = new JsonObject();
      one.addProperty("name", server.name());
      one.addProperty("gpus", server.gpus());
      one.addProperty("idleMillis", server.idleMillis());
      one.addProperty("leased", server.leased());
      one.addProperty("open", server.open());
      servers.add(one);
    }
    json.add("servers", servers);
    return json;
  }
}
