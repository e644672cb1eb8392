// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.google.gson.JsonObject;
import com.google.protobuf.Message;
import io.gpupool.server.PoolSnapshot;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;

/** The kinds of things that a pool has, by the names of their paths. */
enum Kind {
  servers("name", PoolSnapshot::servers),
  gpus("uuid", PoolSnapshot::gpus) {
    @Override
    Place place(JsonObject gpu) {
      return new Place(gpu.get("server").getAsString() + "/" + gpu.get("gpu").getAsInt());
    }
  },
  leases("id", PoolSnapshot::leases),
  queue("id", PoolSnapshot::queue),
  sessions("id", PoolSnapshot::sessions);

  private final String idField;
  private final Function<PoolSnapshot, List<? extends Message>> list;

  Kind(String idField, Function<PoolSnapshot, List<? extends Message>> list) {
    this.idField = idField;
    this.list = list;
  }

  Place place(JsonObject json) {
    return new Place(json.get(idField).getAsString());
  }

  /** All there are, in order. */
  List<Resource> in(PoolSnapshot snapshot) {
    return list.apply(snapshot).stream()
        .map(JsonForm::of)
        .map(json -> new Resource(json.get(idField).getAsString(), place(json), json))
        .sorted(Comparator.comparing(Resource::place))
        .toList();
  }
}
