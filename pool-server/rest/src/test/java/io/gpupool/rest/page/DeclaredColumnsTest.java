// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.page;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import io.gpupool.control.v1.Column;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.json.DeclaredColumns;
import io.gpupool.rest.openapi.OpenApi;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The columns that fields declare, in the page's modules and the OpenAPI document. */
class DeclaredColumnsTest {
  private record Place(Descriptor message, String schema, String view) {}

  private static final Map<String, Place> KINDS =
      Map.of(
          "servers", new Place(ServerInfo.getDescriptor(), "Server", "views/overview.js"),
          "gpus", new Place(GpuInfo.getDescriptor(), "Gpu", "views/gpu-card.js"),
          "leases", new Place(LeaseInfo.getDescriptor(), "Lease", "views/leases.js"),
          "queue", new Place(QueueInfo.getDescriptor(), "QueuedRequest", "views/queue.js"),
          "sessions", new Place(SessionInfo.getDescriptor(), "Session", "views/sessions.js"));

  @Test
  void columns_ofThePage_areInItsModuleAndSchemas() throws IOException {
    JsonObject schemas =
        OpenApi.get().document().getAsJsonObject("components").getAsJsonObject("schemas");
    Map<String, String> modules = TypeChecker.modules();
    KINDS.forEach((kind, place) -> {
      assertThat(modules.get(place.view)).contains("DECLARED." + kind);
      JsonObject properties = schemas.getAsJsonObject(place.schema).getAsJsonObject("properties");
      for (FieldDescriptor field : DeclaredColumns.of(place.message, Column.View.VIEW_PAGE)) {
        assertThat(DeclaredModule.text())
            .contains(
                "field: '%s', head: \"%s\""
                    .formatted(field.getJsonName(), DeclaredColumns.of(field).getHead()));
        assertThat(properties.getAsJsonObject(field.getJsonName()).get("description").getAsString())
            .as(field.getFullName() + " has a comment")
            .isNotEmpty();
      }
    });
  }
}
