// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.gson.JsonObject;
import com.google.protobuf.Message;
import io.gpupool.json.JsonForm;
import io.gpupool.rest.call.Call;
import io.gpupool.rest.http.ProblemException;
import io.gpupool.server.view.PoolSnapshot;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;

/** The kinds of things that a pool has, by the names of their paths. */
public enum Kind implements ResourceCollection {
  servers("name", PoolSnapshot::servers),
  gpus("uuid", PoolSnapshot::gpus) {
    @Override
    NaturalOrder place(JsonObject gpu) {
      return new NaturalOrder(gpu.get("server").getAsString() + "/" + gpu.get("gpu").getAsInt());
    }
  },
  leases("id", PoolSnapshot::leases),
  queue("id", PoolSnapshot::queue),
  sessions("id", PoolSnapshot::sessions),
  partitions("ref", PoolSnapshot::partitions) {
    @Override
    String id(JsonObject partition) {
      JsonObject ref = partition.getAsJsonObject("ref");
      return ref.get("server").getAsString()
          + "/"
          + ref.get("gpu").getAsInt()
          + "/"
          + ref.get("name").getAsString();
    }
  },
  tenants("name", PoolSnapshot::tenants);

  private final String idField;
  private final Function<PoolSnapshot, List<? extends Message>> list;

  Kind(String idField, Function<PoolSnapshot, List<? extends Message>> list) {
    this.idField = idField;
    this.list = list;
  }

  String id(JsonObject json) {
    return json.get(idField).getAsString();
  }

  NaturalOrder place(JsonObject json) {
    return new NaturalOrder(id(json));
  }

  Resource resource(Message message) {
    JsonObject json = JsonForm.of(message);
    return new Resource(id(json), place(json), json);
  }

  @Override
  public List<Resource> read(Call call) throws ProblemException {
    return in(call.snapshot());
  }

  /** All there are, in order. */
  List<Resource> in(PoolSnapshot snapshot) {
    return list.apply(snapshot).stream()
        .map(this::resource)
        .sorted(Comparator.comparing(Resource::place))
        .toList();
  }
}
