// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.gson.JsonObject;
import com.google.protobuf.Message;
import io.gpupool.control.v1.ListAuditRequest;
import io.gpupool.control.v1.ListTokensRequest;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.json.JsonForm;
import io.gpupool.rest.call.Call;
import io.gpupool.rest.http.ProblemException;
import java.util.Comparator;
import java.util.List;

/** The lists that only admins may read, by the names of their paths. */
public enum AdminCollection implements ResourceCollection {
  tokens {
    @Override
    List<? extends Message> ask(Call call) throws ProblemException {
      return call.ask(PoolAdminGrpc.getListTokensMethod(), ListTokensRequest.getDefaultInstance())
          .getTokensList();
    }
  },
  audit {
    @Override
    List<? extends Message> ask(Call call) throws ProblemException {
      return call.ask(
              PoolAdminGrpc.getListAuditMethod(),
              ListAuditRequest.newBuilder().setLimit(Integer.MAX_VALUE).build())
          .getLinesList();
    }

    /** The latest first. */
    @Override
    public Comparator<NaturalOrder> order() {
      return Comparator.reverseOrder();
    }
  };

  abstract List<? extends Message> ask(Call call) throws ProblemException;

  static Resource resource(Message message) {
    JsonObject json = JsonForm.of(message);
    String id = json.get("id").getAsString();
    return new Resource(id, new NaturalOrder(id), json);
  }

  @Override
  public List<Resource> read(Call call) throws ProblemException {
    return ask(call).stream()
        .map(AdminCollection::resource)
        .sorted(Comparator.comparing(Resource::place, order()))
        .toList();
  }
}
