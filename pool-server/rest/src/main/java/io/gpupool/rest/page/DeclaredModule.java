// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.page;

import com.google.gson.Gson;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import io.gpupool.control.v1.Column;
import io.gpupool.control.v1.FieldProperties;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.json.DeclaredColumns;
import io.gpupool.json.JsonForm;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The page's module of the columns that fields of messages declare, by kinds of resources. */
final class DeclaredModule {
  static final String PATH = "js/declared.js";

  private static final Set<JavaType> NUMBERS =
      EnumSet.of(JavaType.INT, JavaType.LONG, JavaType.DOUBLE);

  private DeclaredModule() {}

  static String text() {
    Map<String, Descriptor> kinds = new LinkedHashMap<>();
    kinds.put("servers", ServerInfo.getDescriptor());
    kinds.put("gpus", GpuInfo.getDescriptor());
    kinds.put("leases", LeaseInfo.getDescriptor());
    kinds.put("queue", QueueInfo.getDescriptor());
    kinds.put("sessions", SessionInfo.getDescriptor());
    return """
    // SPDX-License-Identifier: Apache-2.0
    // Columns that fields of resources declare, by the kinds of resources.

    export const DECLARED = {
    %s};
    """
        .formatted(
            kinds.entrySet().stream()
                .map(kind -> list(kind.getKey(), kind.getValue()))
                .collect(Collectors.joining()));
  }

  private static String list(String kind, Descriptor message) {
    return "  /** @type {!Array<!page.DeclaredColumn>} */\n  %s: [\n%s  ],\n"
        .formatted(kind, columns(message));
  }

  private static String columns(Descriptor message) {
    return DeclaredColumns.of(message, Column.View.VIEW_PAGE).stream()
        .map(DeclaredModule::column)
        .collect(Collectors.joining());
  }

  private static String column(FieldDescriptor field) {
    Column column = DeclaredColumns.of(field);
    return "    { field: '%s', head: %s, unit: '%s', number: %s, grows: %s },\n"
        .formatted(
            field.getJsonName(),
            new Gson().toJson(column.getHead()),
            JsonForm.text(column.getUnit()),
            NUMBERS.contains(field.getJavaType()),
            field.getOptions().getExtension(FieldProperties.grows));
  }
}
