// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.gpupool.rest.call.Call;
import io.gpupool.rest.http.ProblemException;
import io.gpupool.rest.http.Response;
import io.gpupool.server.history.GpuHistory;
import io.gpupool.server.history.LeaseLabel;
import io.gpupool.server.history.LeaseSample;
import io.gpupool.server.history.Sample;
import io.gpupool.server.history.Window;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** The answer with the history of a GPU's time and memory, for plots. */
public final class HistoryResponse {
  private static final Map<String, String> CHANGING = Map.of("Cache-Control", "no-store");

  private HistoryResponse() {}

  public static Response answer(Call call) throws ProblemException {
    Resource gpu = new CollectionReader(Kind.gpus).find(call);
    Window window = Window.valueOf(call.query().getOrDefault("window", Window.hour.name()));
    GpuHistory history =
        call.history(gpu.id(), window)
            .orElseThrow(() ->
                new ProblemException(
                    404,
                    "the history of this GPU is kept by its server alone; ask "
                        + gpu.json().get("server").getAsString()));
    return Response.json(200, "application/json", of(history), CHANGING);
  }

  private static JsonObject of(GpuHistory history) {
    JsonObject json = new JsonObject();
    json.addProperty("gpu", history.gpu());
    json.addProperty("window", history.window().name());
    json.addProperty("windowMillis", history.window().millis());
    json.addProperty("sampleMillis", history.window().sampleMillis());
    json.addProperty("nowMillis", history.nowMillis());
    json.addProperty("memoryBytes", history.memoryBytes());
    Set<LeaseLabel> names = new LinkedHashSet<>();
    JsonArray samples = new JsonArray();
    for (Sample sample : history.samples()) {
      sample.portions().forEach(portion -> names.add(portion.lease()));
      samples.add(of(sample));
    }
    JsonArray leases = new JsonArray();
    names.stream().map(HistoryResponse::of).forEach(leases::add);
    json.add("leases", leases);
    json.add("samples", samples);
    return json;
  }

  private static JsonObject of(LeaseLabel lease) {
    JsonObject json = new JsonObject();
    json.addProperty("id", lease.id());
    json.addProperty("tenant", lease.tenant());
    json.addProperty("program", lease.program());
    json.addProperty("holder", lease.holder());
    return json;
  }

  private static JsonObject of(Sample sample) {
    JsonObject json = new JsonObject();
    json.addProperty("atMillis", sample.atMillis());
    json.addProperty("millis", sample.millis());
    JsonArray portions = new JsonArray();
    sample.portions().stream().map(HistoryResponse::of).forEach(portions::add);
    json.add("leases", portions);
    return json;
  }

  private static JsonObject of(LeaseSample portion) {
    JsonObject json = new JsonObject();
    json.addProperty("id", portion.lease().id());
    json.addProperty("grantedGpuNanos", portion.grantedNanos());
    json.addProperty("usedGpuNanos", portion.usedNanos());
    json.addProperty("waitedNanos", portion.waitedNanos());
    json.addProperty("usedMemoryBytes", portion.usedBytes());
    json.addProperty("grantedMemoryBytes", portion.grantedBytes());
    return json;
  }
}
