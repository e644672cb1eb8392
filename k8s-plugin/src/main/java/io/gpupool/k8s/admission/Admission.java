// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.gpupool.k8s.request.Refusal;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The admission webhook's logic: it answers an AdmissionReview (admission.k8s.io/v1) with another.
 * It remembers and reserves nothing, so a dry run is like any other review. For any thread.
 */
public final class Admission {
  private static final String VERSION = "admission.k8s.io/v1";
  private static final String KIND = "AdmissionReview";
  private static final int BAD_REQUEST = 400;
  private static final int FORBIDDEN = 403;

  /** The parser's note on where in the source an error is, which is useless without the source. */
  private static final Pattern PLACE = Pattern.compile("(?s) \\(start marker at .*");

  private static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();

  private final Settings settings;
  private final Reviews reviews;

  /** The result of a review. */
  public enum Outcome {
    UNCHANGED,
    REWRITTEN,
    REFUSED,
    MALFORMED
  }

  /** A listener that is told of each answer. */
  public interface Reviews {
    /** Called after each answer with its outcome and duration. */
    void answered(Outcome outcome, long nanos);
  }

  public Admission(Settings settings) {
    this(settings, (outcome, nanos) -> {});
  }

  /** Creates one that reports its answers to {@code reviews}. */
  public Admission(Settings settings, Reviews reviews) {
    this.settings = settings;
    this.reviews = reviews;
  }

  /**
   * Answers a review as it came over the wire.
   *
   * @throws MalformedReviewException if it is no review; nothing is allowed then
   */
  public byte[] answer(byte[] body) throws MalformedReviewException {
    long startNanos = System.nanoTime();
    Outcome outcome = Outcome.MALFORMED;
    try {
      JsonNode answer = answer(JSON.readTree(body));
      outcome = outcome(answer.path("response"));
      return JSON.writeValueAsBytes(answer);
    } catch (JsonProcessingException e) {
      throw new MalformedReviewException(
          "the body is no JSON: " + PLACE.matcher(e.getOriginalMessage()).replaceAll(""));
    } catch (IOException e) {
      throw new MalformedReviewException("the body cannot be read: " + e.getMessage());
    } finally {
      reviews.answered(outcome, System.nanoTime() - startNanos);
    }
  }

  private static Outcome outcome(JsonNode response) {
    if (!response.path("allowed").asBoolean()) {
      return Outcome.REFUSED;
    }
    return response.has("patch") ? Outcome.REWRITTEN : Outcome.UNCHANGED;
  }

  JsonNode answer(JsonNode review) throws MalformedReviewException {
    if (!review.path("apiVersion").asText("").equals(VERSION)
        || !review.path("kind").asText("").equals(KIND)) {
      throw new MalformedReviewException("the body is no " + KIND + " of " + VERSION);
    }
    JsonNode request = review.path("request");
    String uid = required(request, "uid");
    ObjectNode root = JSON.createObjectNode().put("apiVersion", VERSION).put("kind", KIND);
    ObjectNode response = root.putObject("response").put("uid", uid);
    try {
      allow(response, request);
    } catch (DeniedException e) {
      deny(response.removeAll().put("uid", uid), e.refusals());
    }
    return root;
  }

  private void allow(ObjectNode response, JsonNode request)
      throws MalformedReviewException, DeniedException {
    String operation = required(request, "operation");
    boolean creates = operation.equals("CREATE");
    Optional<Workload> workload =
        Workload.of(request.path("resource").path("group").asText(""), resource(request));
    boolean whole = request.path("subResource").asText("").isEmpty();
    if (workload.isEmpty() || !whole || !creates && !operation.equals("UPDATE")) {
      response.put("allowed", true);
      return;
    }
    ObjectNode object = object(request, "object");
    ObjectNode old = creates ? null : object(request, "oldObject");
    Change change = change(workload.get(), object, old);
    ArrayNode patch = JsonPatch.between(object, change.object());
    response.put("allowed", true);
    if (!patch.isEmpty()) {
      response.put("patchType", "JSONPatch");
      response.put(
          "patch",
          Base64.getEncoder().encodeToString(patch.toString().getBytes(StandardCharsets.UTF_8)));
    }
    if (!change.warnings().isEmpty()) {
      change.warnings().forEach(response.putArray("warnings")::add);
    }
  }

  private Change change(Workload workload, ObjectNode object, @Nullable ObjectNode old)
      throws DeniedException {
    ObjectNode pod = workload.pod(object);
    if (workload == Workload.POD) {
      return old != null ? ChangedPod.admit(pod, old) : NewPod.admit(pod, settings);
    }
    ObjectNode before = old == null ? null : workload.pod(old);
    Change change = Template.admit(pod, before, settings);
    return new Change(workload.with(object, change.object()), change.warnings());
  }

  private static void deny(ObjectNode response, List<Refusal> refusals) {
    boolean wrong = refusals.stream().anyMatch(refusal -> refusal.kind() == Refusal.Kind.WRONG);
    response
        .put("allowed", false)
        .putObject("status")
        .put("status", "Failure")
        .put("code", wrong ? BAD_REQUEST : FORBIDDEN)
        .put("reason", wrong ? "BadRequest" : "Forbidden")
        .put("message", refusals.stream().map(Refusal::sentence).collect(Collectors.joining(" ")));
  }

  private static String resource(JsonNode request) throws MalformedReviewException {
    JsonNode resource = request.path("resource").path("resource");
    if (!resource.isTextual()) {
      throw new MalformedReviewException("the request does not say what it is about (resource)");
    }
    return resource.textValue();
  }

  private static String required(JsonNode request, String field) throws MalformedReviewException {
    JsonNode value = request.path(field);
    if (!value.isTextual() || value.textValue().isEmpty()) {
      throw new MalformedReviewException("the request has no " + field);
    }
    return value.textValue();
  }

  private static ObjectNode object(JsonNode request, String field) throws MalformedReviewException {
    if (request.path(field) instanceof ObjectNode object) {
      return object;
    }
    throw new MalformedReviewException("the request has no " + field);
  }
}
