// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.gpupool.rest.call.Call;
import io.gpupool.rest.http.EntityTag;
import io.gpupool.rest.http.ProblemException;
import io.gpupool.rest.http.Response;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Optional;

/** The answers that list things of one kind: a page of them, or a single one. */
public record CollectionReader(ResourceCollection source) {
  private static final int DEFAULT_LIMIT = 100;

  public Response page(Call call) throws ProblemException {
    Optional<NaturalOrder> after = after(call);
    int limit =
        Optional.ofNullable(call.query().get("limit")).map(Integer::parseInt).orElse(DEFAULT_LIMIT);
    List<Resource> rest =
        source.read(call).stream()
            .filter(resource -> isWanted(resource, call))
            .filter(resource ->
                after.isEmpty() || source.order().compare(resource.place(), after.get()) > 0)
            .toList();
    List<Resource> page = rest.subList(0, Math.min(limit, rest.size()));
    JsonObject whole = new JsonObject();
    JsonObject lasting = new JsonObject();
    JsonArray items = new JsonArray();
    JsonArray lastingItems = new JsonArray();
    page.forEach(resource -> {
      items.add(resource.json());
      lastingItems.add(resource.lasting());
    });
    whole.add("items", items);
    lasting.add("items", lastingItems);
    if (page.size() < rest.size()) {
      String cursor = cursor(page.getLast());
      whole.addProperty("next", cursor);
      lasting.addProperty("next", cursor);
    }
    return tagged(whole, EntityTag.of(lasting.toString()), call);
  }

  public Response one(Call call) throws ProblemException {
    Resource resource = find(call);
    return tagged(resource.json(), resource.tag(), call);
  }

  /** What the call's path names. */
  Resource find(Call call) throws ProblemException {
    return source.read(call).stream()
        .filter(candidate -> candidate.id().equals(call.id()))
        .findFirst()
        .orElseThrow(() ->
            new ProblemException(
                404,
                "there is none by this id, or it is not for you to see; GET /api/v1/"
                    + source.name()
                    + " lists those there are"));
  }

  private static Response tagged(JsonObject whole, EntityTag tag, Call call) {
    return tag.isAmong(call.headers().of("If-None-Match"))
        ? Response.notModified(tag.headers())
        : Response.json(200, "application/json", whole, tag.headers());
  }

  /** A page goes on behind the place of its predecessor's last, even if that is gone by now. */
  private static String cursor(Resource last) {
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(last.place().name().getBytes(StandardCharsets.UTF_8));
  }

  private static Optional<NaturalOrder> after(Call call) throws ProblemException {
    String cursor = call.query().get("cursor");
    if (cursor == null) {
      return Optional.empty();
    }
    try {
      byte[] name = Base64.getUrlDecoder().decode(cursor);
      return Optional.of(new NaturalOrder(new String(name, StandardCharsets.UTF_8)));
    } catch (IllegalArgumentException e) {
      throw new ProblemException(400, "cursor is not one; take `next` of the page before");
    }
  }

  private static boolean isWanted(Resource resource, Call call) {
    return call.operation().parameters().stream()
        .filter(parameter -> !parameter.field().isEmpty())
        .allMatch(parameter -> {
          String wanted = call.query().get(parameter.name());
          return wanted == null
              || has(resource.json(), Arrays.asList(parameter.field().split("\\.")), wanted);
        });
  }

  /** Whether a value is at the path; of arrays, any element counts. */
  private static boolean has(JsonElement at, List<String> path, String value) {
    if (at.isJsonArray()) {
      return at.getAsJsonArray().asList().stream().anyMatch(element -> has(element, path, value));
    }
    if (path.isEmpty()) {
      return at.getAsString().equals(value);
    }
    JsonElement next = at.getAsJsonObject().get(path.getFirst());
    return next != null && has(next, path.subList(1, path.size()), value);
  }
}
