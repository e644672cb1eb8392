// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.gpupool.k8s.request.GpuRequest.Size;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The JSON form of a pod's request. It reads only what it writes. */
final class RequestForm {
  private static final int MAX_LENGTH = 64 * 1024;
  private static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .build();

  private RequestForm() {}

  static String write(PodRequest request) {
    ObjectNode root = JSON.createObjectNode();
    ObjectNode containers = root.putObject("containers");
    request
        .containers()
        .forEach((name, asked) -> {
          ObjectNode node = containers.putObject(name);
          node.put("gpus", asked.gpus());
          switch (asked.size()) {
            case Size.Fraction(BigDecimal part) -> node.put("fraction", part);
            case Size.Memory(long bytes) -> node.put("memoryBytes", bytes);
          }
          if (asked.computePercent() != null) {
            node.put("computePercent", asked.computePercent());
          }
        });
    if (!request.select().isEmpty()) {
      ObjectNode select = root.putObject("select");
      request.select().forEach(select::put);
    }
    if (request.priority() != 0) {
      root.put("priority", request.priority());
    }
    if (request.leaseClass() != LeaseClass.BATCH) {
      root.put("class", request.leaseClass().text());
    }
    if (request.resumeWindowMillis() != null) {
      root.put("resumeWindowMillis", request.resumeWindowMillis());
    }
    if (request.gang() != null) {
      root.putObject("gang").put("name", request.gang().name()).put("size", request.gang().size());
    }
    return root.toString();
  }

  static Optional<PodRequest> read(String json) {
    if (json.length() > MAX_LENGTH) {
      return Optional.empty();
    }
    try {
      return Optional.of(request(JSON.readTree(json)));
    } catch (JsonProcessingException | IllegalArgumentException | ArithmeticException e) {
      return Optional.empty();
    }
  }

  private static PodRequest request(JsonNode root) {
    requireOnly(
        root, Set.of("containers", "select", "priority", "class", "resumeWindowMillis", "gang"));
    Map<String, GpuRequest> containers = new LinkedHashMap<>();
    JsonNode asked = root.path("containers");
    require(asked.isObject() && !asked.isEmpty());
    asked
        .properties()
        .forEach(entry -> containers.put(entry.getKey(), container(entry.getValue())));
    Map<String, String> select = new LinkedHashMap<>();
    if (root.has("select")) {
      require(root.path("select").isObject());
      root.path("select")
          .properties()
          .forEach(entry -> {
            require(entry.getValue().isTextual());
            select.put(entry.getKey(), entry.getValue().textValue());
          });
    }
    int priority = root.has("priority") ? integer(root.path("priority")) : 0;
    require(Math.abs(priority) <= PodRequest.MAX_PRIORITY);
    LeaseClass leaseClass =
        root.has("class")
            ? LeaseClass.of(root.path("class").asText()).orElseThrow(IllegalArgumentException::new)
            : LeaseClass.BATCH;
    return new PodRequest(containers, select, priority, leaseClass, resumeWindow(root), gang(root));
  }

  private static @Nullable PodGang gang(JsonNode root) {
    if (!root.has("gang")) {
      return null;
    }
    JsonNode gang = root.path("gang");
    requireOnly(gang, Set.of("name", "size"));
    require(gang.path("name").isTextual());
    return new PodGang(gang.path("name").textValue(), integer(gang.path("size")));
  }

  private static @Nullable Long resumeWindow(JsonNode root) {
    if (!root.has("resumeWindowMillis")) {
      return null;
    }
    long millis = integer(root.path("resumeWindowMillis"));
    require(millis >= 0 && millis <= PodRequest.MAX_RESUME_WINDOW_MILLIS);
    return millis;
  }

  private static GpuRequest container(JsonNode node) {
    requireOnly(node, Set.of("gpus", "fraction", "memoryBytes", "computePercent"));
    require(node.has("fraction") != node.has("memoryBytes"));
    JsonNode amount = node.has("fraction") ? node.path("fraction") : node.path("memoryBytes");
    require(amount.isNumber());
    Size size =
        node.has("fraction")
            ? new Size.Fraction(Quantity.parse(amount.asText()))
            : new Size.Memory(Quantity.parse(amount.asText()).longValueExact());
    return new GpuRequest(
        integer(node.path("gpus")),
        size,
        node.has("computePercent") ? Integer.valueOf(integer(node.path("computePercent"))) : null);
  }

  private static int integer(JsonNode node) {
    require(node.isInt());
    return node.intValue();
  }

  private static void requireOnly(JsonNode node, Set<String> fields) {
    require(node.isObject());
    node.fieldNames().forEachRemaining(name -> require(fields.contains(name)));
  }

  private static void require(boolean condition) {
    if (!condition) {
      throw new IllegalArgumentException();
    }
  }
}
